"""Run Python programs in forked children of a server that has imported everything: milliseconds instead of a start-up.

A child is a process like any other: it has the streams, environment, directory and arguments of its request, an
unused libgit2, and an exit code or the signal that killed it. What differs from a new interpreter: all modules of scopes
are imported already, and what Python reads once at its start (locale, hash seed, `-X`) is the server's. Tests of these
start an interpreter. `TEST_INTERPRETERS=new` lets every program have one that `run_program` or `store.Process` starts.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import marshal
import os
import pickle
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Self

from tests.support.large_pages import LARGE_PAGES

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MAX_REQUEST_BYTES = 100_000
READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_")
PIPE, DEVNULL = subprocess.PIPE, subprocess.DEVNULL


class Request(NamedTuple):
    """A program, its arguments after `-c`, its environment, its directory, and whether it leads a process group."""

    program: str
    arguments: list[str]
    environment: dict[str, str]
    directory: str
    new_session: bool = False


def run_program(
    program: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdin: Any = None,
    stdout: Any = PIPE,
    stderr: Any = PIPE,
    input: str | bytes | None = None,  # noqa: A002 - the name in `subprocess.run`
    text: bool = True,
    timeout: float = 60,
    cwd: str | os.PathLike[str] | None = None,
) -> subprocess.CompletedProcess:
    """Run a program as `python -c` does and wait for its end; the parameters are those of `subprocess.run`."""
    request = Request(
        program, [os.fsdecode(word) for word in arguments], dict(environment), os.fspath(cwd or os.getcwd())
    )
    data = pickle.dumps(request)
    if len(data) > MAX_REQUEST_BYTES or needs_interpreter(environment):
        streams = {"input": input} if input is not None else {"stdin": stdin}
        return subprocess.run(
            [sys.executable, "-c", program, *arguments], env=environment, stdout=stdout, stderr=stderr, text=text,
            timeout=timeout, cwd=cwd, check=False, **streams,
        )  # fmt: skip
    with contextlib.ExitStack() as stack:
        streams = _Streams(stack, stdin if input is None else PIPE, stdout, stderr)
        replies, reply = socket.socketpair()
        stack.enter_context(replies)
        with reply:
            socket.send_fds(find_server(), [data], [*streams.childs, reply.fileno()])
        streams.close_childs()
        pid = int(replies.recv(20))
        try:
            out, err = streams.communicate(input.encode() if isinstance(input, str) else input or b"", timeout)
            replies.settimeout(timeout)
            code = int(replies.recv(20))
        except TimeoutError as error:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired([program, *arguments], timeout) from error
    if text:
        out, err = (data if data is None else data.decode().replace("\r\n", "\n") for data in (out, err))
    return subprocess.CompletedProcess([sys.executable, "-c", program, *arguments], code, out, err)


class StartedProgram:
    """A program that runs beside the test; used as a `subprocess.Popen`.

    new_session: the program leads a process group of its own, which ends with it at `os.killpg`.
    """

    def __init__(
        self,
        program: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        *,
        stdin: Any = PIPE,
        stderr: Any,
        cwd: str,
        text: bool = False,
        new_session: bool = False,
    ) -> None:
        request = Request(
            program, [os.fsdecode(word) for word in arguments], dict(environment), cwd, new_session=new_session
        )
        with contextlib.ExitStack() as stack:
            streams = _Streams(stack, stdin, PIPE, stderr)
            self._replies, reply = socket.socketpair()
            with reply:
                socket.send_fds(find_server(), [pickle.dumps(request)], [*streams.childs, reply.fileno()])
            streams.close_childs()
            self.stdin, self.stdout, self.stderr = streams.open(text=text)
        self.pid = int(self._replies.recv(20))
        self.returncode: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()

    def communicate(self, timeout: float | None = None) -> tuple[Any, Any]:
        """Close its input, read the rest of both outputs, and wait for its end."""
        if self.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.stdin.close()
        outputs: dict[int, Any] = {}

        def read(number: int, stream: Any) -> None:
            with stream:
                outputs[number] = stream.read()

        streams = [(number, stream) for number, stream in enumerate((self.stdout, self.stderr)) if stream is not None]
        readers = [threading.Thread(target=read, args=each, daemon=True) for each in streams]
        for reader in readers:
            reader.start()
        self.wait(timeout)
        for reader in readers:
            reader.join(timeout)
            if reader.is_alive():  # a child of the program has its output
                raise subprocess.TimeoutExpired([str(self.pid)], timeout or 0)
        return outputs.get(0), outputs.get(1)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code, or the negative signal."""
        if self.returncode is None:
            self._replies.settimeout(timeout)
            try:
                self.returncode = int(self._replies.recv(20))
            except TimeoutError as error:
                raise subprocess.TimeoutExpired([str(self.pid)], timeout or 0) from error
            self._replies.close()
        return self.returncode

    def poll(self) -> int | None:
        """Return the exit code; None while the program runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0.001)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended since, and its code is on the way
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the program."""
        self.send_signal(signal.SIGKILL)

    def close(self, timeout: float = 30) -> int:
        """Close its input, read the rest of its output, and return its exit code."""
        with contextlib.suppress(BrokenPipeError):
            self.stdin.close()
        self.stdout.read()
        self.stdout.close()
        return self.wait(timeout)


def needs_interpreter(environment: Mapping[str, str]) -> bool:
    """Return True if every program is to have one, or the environment differs in what Python reads at its start."""
    names = {name for name in (*environment, *os.environ) if name.startswith(READ_AT_START) and name != "PYTHONPATH"}
    return os.environ.get("TEST_INTERPRETERS") == "new" or any(
        environment.get(name) != os.environ.get(name) for name in names
    )


class _Streams:
    """The three streams of a child, and our ends of those that are pipes."""

    def __init__(self, stack: contextlib.ExitStack, *streams: Any) -> None:
        self.childs: list[int] = []
        self._close: list[int] = []
        self._ours: list[int | None] = []
        stack.callback(self._close_all)
        for number, stream in enumerate(streams):
            ours = None
            if stream == PIPE:
                ends = os.pipe()
                ours, theirs = ends if number else ends[::-1]
                self._close.append(theirs)
            elif stream == DEVNULL:
                theirs = os.open(os.devnull, os.O_RDWR)
                self._close.append(theirs)
            elif stream is None:
                theirs = number
            else:
                theirs = stream if isinstance(stream, int) else stream.fileno()
            self.childs.append(theirs)
            self._ours.append(ours)

    def close_childs(self) -> None:
        """Close the child's ends, so that reading ends with the child."""
        while self._close:
            os.close(self._close.pop())

    def open(self, *, text: bool) -> list[Any]:
        """Return files of our ends, and None for a stream that is no pipe; they stay open."""
        files = []
        for number, end in enumerate(self._ours):
            mode = ("r" if number else "w") + ("" if text else "b")
            files.append(None if end is None else open(end, mode))  # noqa: SIM115 - as long as the program
        self._ours = []
        return files

    def _close_all(self) -> None:
        self.close_childs()
        for end in self._ours:
            if end is not None:
                os.close(end)

    def communicate(self, data: bytes, timeout: float) -> tuple[bytes | None, bytes | None]:
        """Write the input and read both outputs to their ends; raise TimeoutError after `timeout` seconds."""
        outputs = [None if end is None else bytearray() for end in self._ours[1:]]
        deadline = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            for number, end in enumerate(self._ours):
                if end is not None:
                    selector.register(end, selectors.EVENT_READ if number else selectors.EVENT_WRITE, number)
            while selector.get_map():
                if (left := deadline - time.monotonic()) <= 0:
                    raise TimeoutError
                for key, _ in selector.select(left):
                    if key.data == 0:
                        data = self._write(key.fd, data)
                        finished = not data
                    else:
                        block = os.read(key.fd, 1 << 16)
                        outputs[key.data - 1] += block
                        finished = not block
                    if finished:
                        selector.unregister(key.fd)
                        os.close(key.fd)
                        self._ours[key.data] = None
        out, err = (None if output is None else bytes(output) for output in outputs)
        return out, err

    @staticmethod
    def _write(end: int, data: bytes) -> bytes:
        try:
            return data[os.write(end, data[: 1 << 12]) :]
        except BrokenPipeError:
            return b""


@contextlib.contextmanager
def listen(path: str | os.PathLike[str], program: str) -> Iterator[None]:
    """Run a program for every `fork_client` that connects to a socket at `path`, several of them at once."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(os.fspath(path))
        listener.listen()
        find_server()
        accepting = threading.Thread(target=_accept, args=(listener, program))
        accepting.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()


def _accept(listener: socket.socket, program: str) -> None:
    answering = []
    with contextlib.suppress(OSError):  # the listener was shut down
        while True:
            connection, _ = listener.accept()
            answering.append(threading.Thread(target=_answer, args=(connection, program)))
            answering[-1].start()
    for thread in answering:
        thread.join()


def _answer(connection: socket.socket, program: str) -> None:
    with connection:
        data, streams, _, _ = socket.recv_fds(connection, MAX_REQUEST_BYTES, 3)
        words, environment, directory = marshal.loads(data)
        done = run_program(
            program, words, environment, stdin=streams[0], stdout=streams[1], stderr=streams[2], cwd=directory
        )
        for stream in streams:
            os.close(stream)
        with contextlib.suppress(BrokenPipeError):  # the client was killed
            connection.send(b"%d" % done.returncode)


_servers: dict[int, tuple[socket.socket, subprocess.Popen]] = {}
_start = threading.Lock()


def find_server() -> socket.socket:
    """Return the connection to the server of this process; it ends with this process."""
    with _start:  # threads of one test ask at the same moment
        if os.getpid() not in _servers:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            path = os.pathsep.join(filter(None, (ROOT, os.environ.get("PYTHONPATH"))))
            with theirs:
                process = subprocess.Popen(
                    [sys.executable, "-m", __name__, str(theirs.fileno())],
                    pass_fds=[theirs.fileno()], env={**os.environ, **LARGE_PAGES, "PYTHONPATH": path}, cwd=ROOT, stdin=DEVNULL,
                )  # fmt: skip
            _servers[os.getpid()] = ours, process
    return _servers[os.getpid()][0]


def serve(descriptor: int) -> None:
    """Fork a child for each request, and report its process id and its exit code, until the connection ends."""
    connection = socket.socket(fileno=descriptor)
    _import_everything()
    selector = selectors.DefaultSelector()
    selector.register(connection, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is connection:
                data, descriptors, _, _ = socket.recv_fds(connection, MAX_REQUEST_BYTES, 4)
                if not data:
                    return
                *streams, reply = descriptors
                child = os.fork()
                if child == 0:
                    _become(pickle.loads(data), streams)
                for stream in streams:
                    os.close(stream)
                os.write(reply, b"%-20d" % child)
                selector.register(os.pidfd_open(child), selectors.EVENT_READ, (child, reply))
            else:
                child, reply = key.data
                _, status = os.waitpid(child, 0)
                with contextlib.suppress(OSError):  # the test does not wait any longer
                    os.write(reply, b"%-20d" % os.waitstatus_to_exitcode(status))
                os.close(reply)
                selector.unregister(key.fd)
                os.close(key.fd)


def _import_everything() -> None:
    import scopes

    for module in pkgutil.walk_packages(scopes.__path__, "scopes."):
        if not module.name.endswith("__main__"):
            __import__(module.name)
    gc.freeze()  # a child's collections then touch, and so copy, little of what it shares with the server


def _become(request: Request, streams: Sequence[int]) -> NoReturn:
    """Turn this child into the process of a program and run it."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, 1 << 10)
    _open_streams()
    if request.new_session:
        os.setsid()
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    os.chdir(request.directory)
    _forget_home_directory()
    sys.argv = ["-c", *request.arguments]
    sys.path[0] = ""
    code = _run(request.program)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _open_streams() -> None:
    """Make the stream objects anew, since those of the server know whether its own streams could seek."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        old = getattr(sys, name)
        stream = open(  # noqa: SIM115 - as long as the process
            old.fileno(), mode, encoding=old.encoding, errors=old.errors, closefd=False,
            buffering=1 if name == "stderr" or os.isatty(old.fileno()) else -1,
        )  # fmt: skip
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _forget_home_directory() -> None:
    """Let libgit2 look for configuration files again: it reads the environment when it is loaded."""
    import pygit2
    from pygit2.enums import ConfigLevel

    for level in (ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
        pygit2.settings.search_path[level] = None


def _run(program: str) -> int:
    try:
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    serve(int(sys.argv[1]))
