"""Run one git command with limits: of time, of memory, and of the size of a file; pass on its progress.

What git and the server write to standard error is for people: `describe_failure` makes it safe to show.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Final, NamedTuple, ParamSpec, TypeAlias

from scopes.errors import Inaccessible
from scopes.lazy_patterns import compile_lazily
from scopes.sanitize import clean_line, cut
from scopes.secret_patterns import redact

_P = ParamSpec("_P")
Progress: TypeAlias = Callable[[str, int, int], None]
"""Gets what git does, how many items of it are done, and how many there are."""

# A shell sets the limits, because a child of a process with threads must not run Python code.
_LIMITED: Final = 'ulimit -v "$1" 2>/dev/null; ulimit -f "$2" 2>/dev/null; shift 2; exec "$@"'
_KIB: Final = 1024
_BLOCK: Final = 512  # bytes; the unit of `ulimit -f`
_READ_BYTES: Final = 1 << 16
_MAX_OUTPUT: Final = 256 << 20
_MAX_ERRORS: Final = 1 << 16
_MAX_LINES, _MAX_LINE = 8, 300
_POLL_SECONDS: Final = 0.5
# Only words of git itself: what a server writes behind `remote:` may be anything.
_PROGRESS = compile_lazily(
    r"(?:remote: )?(?P<label>(?:Enumerating|Counting|Compressing|Receiving|Writing|Unpacking|Checking|Indexing) objects"
    r"|Resolving deltas|Checking connectivity):\s+[0-9]{1,3}% \((?P<done>[0-9]{1,12})/(?P<all>[0-9]{1,12})\)"
)
_NOISE = compile_lazily(r"(?:To|From) |hint: |warning: |Everything up-to-date|\s*$|.*\d+% \(")


class Limits(NamedTuple):
    """Limits of one git command."""

    seconds: float = 3600.0
    memory_bytes: int = 2 << 30
    file_bytes: int = 8 << 30


class Finished(NamedTuple):
    """Result of a git command: exit code, standard output, and the end of standard error."""

    code: int
    output: bytes
    errors: str


@contextmanager
def start_limited(
    words: Sequence[str],
    *,
    directory: str,
    environment: Mapping[str, str],
    limits: Limits,
    stdin: bytes = b"",
    lock: int | None = None,
    own_session: bool = True,
    on_progress: Progress | None = None,
    on_wait: Callable[[], None] | None = None,
) -> Iterator[Callable[[], Finished]]:
    """Start a command, and yield a function that waits for its end; if it still runs after the block, it is killed.

    Several commands may run at the same time: one with much output blocks until its function is called.

    lock: a descriptor that it inherits
    own_session: False lets git ask for a password on the terminal; Ctrl-C then reaches it, too
    on_wait: called once if git has said nothing for half a second

    Raises:
        Inaccessible: it cannot be started, took too long or printed too much.
    """
    memory, file = limits.memory_bytes // _KIB, limits.file_bytes // _BLOCK
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", _LIMITED, "sh", str(memory), str(file), *words],
                cwd=directory,
                env=dict(environment),
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=own_session,
                pass_fds=() if lock is None else (lock,),
            )
        except OSError as error:
            raise Inaccessible(f"git cannot be started: {error.strerror}", hint="see: scopes doctor") from error
    try:
        reader = _Reader(process, limits.seconds, on_progress, on_wait)

        def finish() -> Finished:
            output, errors = reader.read()
            return Finished(process.returncode, output, errors)

        yield finish
    finally:
        _end(process, own_session=own_session)


def _to_the_end(start: Callable[_P, AbstractContextManager[Callable[[], Finished]]]) -> Callable[_P, Finished]:
    def run(*words: _P.args, **options: _P.kwargs) -> Finished:
        with start(*words, **options) as finish:
            return finish()

    return run


run_limited = _to_the_end(start_limited)  # waits for the end of a command, and returns what it left


def _end(process: subprocess.Popen[bytes], *, own_session: bool) -> None:
    """Kill the process and its group if any of it still runs; usually nothing is left when git has ended."""
    with suppress(ProcessLookupError, PermissionError):
        if own_session:
            os.killpg(process.pid, signal.SIGKILL)
        elif process.poll() is None:
            process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


class _Reader:
    """Reads standard output and standard error until git has closed both."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        seconds: float,
        on_progress: Progress | None,
        on_wait: Callable[[], None] | None,
    ) -> None:
        self._process = process
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._on_progress = on_progress
        self._on_wait = on_wait
        self._output: list[bytes] = []
        self._size = 0
        self._errors = b""

    def read(self) -> tuple[bytes, str]:
        with selectors.DefaultSelector() as selector:
            for stream, take in ((self._process.stdout, self._take_output), (self._process.stderr, self._take_errors)):
                if stream is not None:
                    selector.register(stream, selectors.EVENT_READ, take)
            while selector.get_map():
                if time.monotonic() > self._deadline:
                    raise self._too_slow()
                ready = selector.select(_POLL_SECONDS)
                if self._on_wait is not None:
                    if not ready:
                        self._on_wait()
                    self._on_wait = None
                for key, _ in ready:
                    data = os.read(key.fd, _READ_BYTES)
                    key.data(data)
                    if not data:
                        selector.unregister(key.fileobj)
        try:
            self._process.wait(max(self._deadline - time.monotonic(), 0.01))
        except subprocess.TimeoutExpired as error:
            raise self._too_slow() from error
        return b"".join(self._output), self._errors.decode("utf-8", "replace")

    def _take_output(self, data: bytes) -> None:
        self._output.append(data)
        self._size += len(data)
        if self._size > _MAX_OUTPUT:
            raise Inaccessible(f"the remote sent more than {_MAX_OUTPUT >> 20} MiB of names", hint="it may be hostile")

    def _take_errors(self, data: bytes) -> None:
        self._errors = (self._errors + data)[-_MAX_ERRORS:]
        if self._on_progress is not None:
            for line in re.split(rb"[\r\n]", data):
                found = _PROGRESS.match(line.decode("utf-8", "replace"))
                if found is not None:
                    self._on_progress(found["label"].lower(), int(found["done"]), int(found["all"]))

    def _too_slow(self) -> Inaccessible:
        error = Inaccessible(
            f"git took longer than {self._seconds:.0f} seconds", hint="see whether the remote answers, and try again"
        )
        error.retryable = True
        return error


def describe_failure(errors: str) -> str:
    """Return why git failed, from what it wrote to standard error: a few safe lines without secrets, as one text."""
    lines = [line.rpartition("\r")[2] for line in errors.replace("\r\n", "\n").split("\n")]
    kept = [clean_line(redact(line)).strip() for line in lines if not _NOISE.match(line.removeprefix("remote: "))]
    known = [cut(line, _MAX_LINE) for line in dict.fromkeys(kept) if line]
    return "; ".join(known[-_MAX_LINES:]) or "git gave no reason"


def server_lines(errors: str) -> tuple[str, ...]:
    """Return what the server said, such as a hook that explains its refusal: a few safe lines without secrets."""
    lines = [line.rpartition("\r")[2] for line in errors.split("\n")]
    found = (line.removeprefix("remote: ").rstrip() for line in lines if line.startswith("remote: "))
    return tuple(cut(clean_line(redact(line)), _MAX_LINE) for line in found if not _NOISE.match(line))[-_MAX_LINES:]
