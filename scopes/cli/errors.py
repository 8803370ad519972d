"""Turn the exception that stopped a command into one error line and an exit code; write a crash file for bugs.

`-vv` adds the traceback of an error, and the time that a run took. `traceback` is slow to import, and needed only then.
"""

from __future__ import annotations

import errno
import os
import signal
import sys

from scopes.errors import Inaccessible, ScopesError
from scopes.regular_file import UnusableFile
from scopes.sanitize import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from scopes.cli.invocation import Invocation

EXIT_BUG = 70
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141

# Failures of the machine (full disk, missing permission), which are not bugs of ours wherever they occur.
_MACHINE_ERRORS = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS),
    *(errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.EBADF),
}


class Interrupted(ScopesError):
    """The user pressed Ctrl-C; what was recorded before stays recorded."""

    kind = "interrupted"
    exit_code = EXIT_INTERRUPTED


class Bug(ScopesError):
    """An unexpected exception: a defect of scopes."""

    kind = "bug"
    exit_code = EXIT_BUG


def report(invocation: Invocation, error: BaseException) -> int:
    """Print the error and return the exit code; for a broken pipe print nothing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if isinstance(error, BrokenPipeError):
        _discard(invocation.stdout)
        return EXIT_BROKEN_PIPE
    if invocation.debug:
        from traceback import format_exception

        _print(invocation.stderr, clean("".join(format_exception(error))))
    reported = _as_scopes_error(invocation, error)
    recorded = invocation.committed
    if recorded is not None:
        reported.message += (
            f"; recorded as {recorded} before the {'interrupt' if reported.kind == 'interrupted' else 'error'}"
        )
    try:
        invocation.stdout.flush()
    except OSError:
        _discard(invocation.stdout)
    try:
        invocation.output(configured=False).fail(reported)
        invocation.stderr.flush()
    except OSError:
        _discard(invocation.stderr)  # nothing more can be printed; the exit code still reports the error
    return reported.exit_code


def _as_scopes_error(invocation: Invocation, error: BaseException) -> ScopesError:
    if isinstance(error, ScopesError):
        return error
    if isinstance(error, KeyboardInterrupt):
        return Interrupted("interrupted")
    if isinstance(error, UnusableFile):
        return Inaccessible(f"cannot read {error.filename}: {error.strerror}")
    if isinstance(error, OSError) and error.errno in _MACHINE_ERRORS:
        failed = f"cannot use {error.filename}" if error.filename else "cannot write the output"
        reason = os.strerror(error.errno)
        return Inaccessible(f"{failed}: {reason[0].lower()}{reason[1:]}")
    summary = f"{type(error).__name__}: {error}".partition("\n")[0]
    path = write_crash_file(invocation, error)
    hint = f"please report it with the details in {path}" if path else "please report it with the text above"
    return Bug(f"this is a bug in scopes: {summary}", hint=hint)


def _discard(stream: TextIO) -> None:
    """Redirect a stream to /dev/null, so that flushing its buffer at exit does not fail."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def run_with_timing(run: Callable[[], int]) -> int:
    """Run a command, print its wall-clock and CPU time, and return its exit code."""
    import time

    started, cpu_started = time.perf_counter(), time.process_time()
    code = run()
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu_started
    _print(sys.stderr, f"debug: exit code {code}, {wall:.3f} s, {cpu:.3f} s of CPU time, {len(sys.modules)} modules\n")
    return code


def _print(stream: TextIO, text: str) -> None:
    """Write to standard error; a failure is ignored, as it would hide the exit code."""
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        return


def write_crash_file(invocation: Invocation, error: BaseException) -> str | None:
    """Write the crash file for a bug report, readable only by its owner, and return its path.

    It contains no arguments, because they may contain messages and secrets. If it cannot be written, print its content
    to standard error and return None.
    """
    from traceback import format_exception

    from scopes import __version__, clock

    python, system = sys.version.replace("\n", " "), " ".join(os.uname()[i] for i in (0, 2, 4))
    head = f"scopes {__version__}\npython {python}\nsystem {system}\ncommand {invocation.command or '(none)'}\n\n"
    text = head + "".join(format_exception(error))
    name = f"crash-{clock.now().replace(':', '').replace('.', '-')}-{os.getpid()}.txt"
    path = os.path.join(invocation.state_directory, name)
    try:
        os.makedirs(invocation.state_directory, mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        invocation.stderr.write(text)
        return None
    return path
