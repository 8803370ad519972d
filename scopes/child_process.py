"""Start a command in a process group of its own, and kill it together with everything that it started.

Commands of the user are run: the summarizer, the command of `bisect`, the programs of agents. What they read, write
and mean is not here.

A process that gets SIGKILL cannot kill what it started. So a second shell is started, the guard, which waits for the
end of a pipe that only this process has open, and then kills the group of the command. The command begins after its
guard: in `run_command`, which threads call, its own shell waits for the line `go`, and ends if that never comes; in
`start_group` the child writes its number to the guard before it becomes the command.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import IO, NamedTuple

_LAUNCH = 'read -r go && exec /bin/sh -c "$1"'
_GUARD = 'read -r end; kill -9 "-$1"'
_GUARD_OF_NAMED = f'read -r group || exit; set -- "$group"; {_GUARD}'
_FATAL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_READ_BYTES = 65536
_MAX_STDERR_BYTES = 2000
_GRACE_SECONDS, _POLL_SECONDS = 1.0, 0.1


class CommandFailed(Exception):
    """A command did not start, failed, took too long or wrote too much; the text is a predicate of the command."""


class CommandLimits(NamedTuple):
    """How long a command may take, and how many bytes it may write."""

    seconds: int
    output_bytes: int


class Guard:
    """Kills the group that a child has named if this process dies, whatever the signal, before `end` was called."""

    def __init__(self) -> None:
        """Start the shell.

        Raises:
            OSError: it cannot be started.
        """
        self._shell = _start_guard_shell(_GUARD_OF_NAMED)

    def name_group(self) -> None:
        """Tell the shell that it guards the group of the calling process, which leads it."""
        if self._shell.stdin is not None:
            os.write(self._shell.stdin.fileno(), b"%d\n" % os.getpid())

    def end(self) -> None:
        """End the shell; the group goes on."""
        self._shell.kill()
        self._shell.wait()
        _close(self._shell.stdin)


def start_group(
    command: Sequence[str],
    data: bytes | None,
    *,
    stdout: int,
    stderr: int | None = None,
    environ: Mapping[str, str] | None = None,
    guard: Guard | None = None,
) -> subprocess.Popen[bytes]:
    """Start a command, without a shell, with `data` on standard input; None is the null device.

    stdout, stderr: as for subprocess.Popen; None is our own. environ: None is our own.
    guard: kills the group if this process dies; only for a process with one thread

    Raises:
        OSError: it cannot be started.
    """
    with tempfile.TemporaryFile() as stdin:
        stdin.write(data or b"")
        stdin.seek(0)
        return subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL if data is None else stdin,
            stdout=stdout,
            stderr=stderr,
            env=None if environ is None else dict(environ),
            start_new_session=True,
            preexec_fn=None if guard is None else guard.name_group,  # noqa: PLW1509 - see above: one thread
        )


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a command and every process of its group; the caller waits for it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def before_fatal_signals(action: Callable[[], None]) -> Iterator[None]:
    """Call `action` when SIGINT, SIGTERM or SIGHUP arrives in the block, and deliver the signal after the block.

    A signal that is ignored stays ignored: a shell without job control starts background commands with SIGINT ignored,
    and after the block the signal would not end this process.

    In another thread than the main one, which gets the signals, nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        arrived.append(number)
        action()

    heeded = [number for number in _FATAL if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, note) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if arrived:
            signal.raise_signal(arrived[-1])


def run_command(
    command: str,
    data: bytes,
    limits: CommandLimits,
    *,
    environ: Mapping[str, str] | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> bytes:
    """Run a command through the shell with `data` on standard input, and return what it wrote on standard output.

    No process of its group survives it, nor the death of this process, whatever the signal.
    is_stopped: asked ten times a second; the command is killed once it is True

    Raises:
        CommandFailed: it did not start, failed, took too long, wrote too much, or was stopped.
    """
    try:
        process, guard = _start_guarded(command, environ)
    except OSError as error:
        raise CommandFailed(f"cannot be started: {error.strerror}") from error
    try:
        stdout, stderr = _Transfer(process, b"go\n" + data, limits, is_stopped).run()
    finally:
        kill_group(process)
        guard.kill()  # before the number of the group can be that of another one
        guard.wait()
        process.wait()
        for stream in (guard.stdin, process.stdin, *_streams(process)):
            _close(stream)
    if process.returncode != 0:
        lines = stderr.decode("utf-8", "replace").strip().splitlines() or ["it wrote nothing to standard error"]
        code = process.returncode
        how = f"failed with exit code {code}" if code > 0 else f"was killed by signal {-code}"
        raise CommandFailed(f"{how}: {lines[-1][:200]}")
    return stdout


def _start_guarded(
    command: str, environ: Mapping[str, str] | None
) -> tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]:
    """Start the shell that waits to run a command, and its guard."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        ["/bin/sh", "-c", _LAUNCH, "sh", command],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env=None if environ is None else dict(environ),
        start_new_session=True,
    )
    try:
        guard = _start_guard_shell(_GUARD, str(process.pid))
    except OSError:
        for stream in (process.stdin, *_streams(process)):
            _close(stream)
        process.wait()
        raise
    return process, guard


def _start_guard_shell(script: str, *arguments: str) -> subprocess.Popen[bytes]:
    words = ["/bin/sh", "-c", script, "sh", *arguments]
    null = subprocess.DEVNULL
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=null, stderr=null, start_new_session=True)


class _Transfer:
    """Writes standard input; reads standard output, and the end of standard error, until both are closed.

    A background process of the command may keep them open: it gets one more second after the command's exit.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], data: bytes, limits: CommandLimits, is_stopped: Callable[[], bool]
    ) -> None:
        self._process = process
        self._input = memoryview(data)
        self._limits = limits
        self._is_stopped = is_stopped
        self._deadline = time.monotonic() + limits.seconds
        self._output = [b"", b""]

    def run(self) -> tuple[bytes, bytes]:
        with selectors.DefaultSelector() as selector:
            if self._process.stdin is not None:
                os.set_blocking(self._process.stdin.fileno(), False)
                selector.register(self._process.stdin, selectors.EVENT_WRITE)
            for number, stream in enumerate(_streams(self._process)):
                selector.register(stream, selectors.EVENT_READ, number)
            while selector.get_map():
                remaining = self._remaining()
                if remaining <= 0:
                    break
                self._transfer_ready(selector, min(remaining, _POLL_SECONDS))
        try:
            self._process.wait(max(self._deadline - time.monotonic(), 0.01))
        except subprocess.TimeoutExpired as error:
            raise self._too_slow() from error
        return self._output[0], self._output[1]

    def _remaining(self) -> float:
        """Return the seconds that are left; not more than 0 if the command has ended and only its output is open."""
        if self._process.returncode is None and self._process.poll() is not None:
            self._deadline = min(self._deadline, time.monotonic() + _GRACE_SECONDS)
        remaining = self._deadline - time.monotonic()
        if self._process.returncode is None:
            if remaining <= 0:
                raise self._too_slow()
            if self._is_stopped():
                raise CommandFailed("was stopped")
        return remaining

    def _transfer_ready(self, selector: selectors.BaseSelector, seconds: float) -> None:
        for key, events in selector.select(seconds):
            if events & selectors.EVENT_WRITE:
                self._write(selector, key)
                continue
            data = os.read(key.fd, _READ_BYTES)
            self._output[key.data] += data
            if not data:
                selector.unregister(key.fileobj)
        self._output[1] = self._output[1][-_MAX_STDERR_BYTES:]
        if len(self._output[0]) > self._limits.output_bytes:
            raise CommandFailed(f"wrote more than {self._limits.output_bytes:,} bytes")

    def _write(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        """Write a part of the input, and close it after the last one, or if the command has closed it."""
        try:
            self._input = self._input[os.write(key.fd, self._input[:_READ_BYTES]) :]
        except BrokenPipeError:
            self._input = self._input[:0]
        if not self._input:
            selector.unregister(key.fileobj)
            _close(self._process.stdin)

    def _too_slow(self) -> CommandFailed:
        return CommandFailed(
            f"took longer than {self._limits.seconds} second{'' if self._limits.seconds == 1 else 's'}"
        )


def _close(stream: IO[bytes] | None) -> None:
    if stream is not None:
        with suppress(BrokenPipeError):
            stream.close()


def _streams(process: subprocess.Popen[bytes]) -> list[IO[bytes]]:
    return [stream for stream in (process.stdout, process.stderr) if stream is not None]
