"""The last resort: whatever stopped a command becomes one line, the right exit code, and for a bug a crash file."""

from __future__ import annotations

import errno
import os
import signal

from scopes.errors import Inaccessible, ScopesError
from scopes.loading import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from scopes.cli.invocation import Invocation

EXIT_BUG = 70
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141

# The machine says no, which is no bug of ours, wherever it comes up.
_MACHINE = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS),
    *(errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.EBADF),
}


class Interrupted(ScopesError):
    """Ctrl-C; what was recorded before it stays recorded."""

    kind = "interrupted"
    exit_code = EXIT_INTERRUPTED


class Bug(ScopesError):
    """A defect of scopes itself."""

    kind = "bug"
    exit_code = EXIT_BUG


def report(invocation: Invocation, error: BaseException) -> int:
    """Say what stopped the command and return the exit code; a broken pipe is silent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if isinstance(error, BrokenPipeError):
        _abandon(invocation.stdout)
        return EXIT_BROKEN_PIPE
    refusal = _as_refusal(invocation, error)
    done = invocation.committed
    if done is not None:
        refusal.message += (
            f"; recorded as {done} before the {'interrupt' if refusal.kind == 'interrupted' else 'error'}"
        )
    try:
        invocation.stdout.flush()
    except OSError:
        _abandon(invocation.stdout)
    try:
        invocation.output(configured=False).fail(refusal)
        invocation.stderr.flush()
    except OSError:
        _abandon(invocation.stderr)  # nobody can be told any more; the exit code still says it
    return refusal.exit_code


def _as_refusal(invocation: Invocation, error: BaseException) -> ScopesError:
    if isinstance(error, ScopesError):
        return error
    if isinstance(error, KeyboardInterrupt):
        return Interrupted("interrupted")
    if isinstance(error, OSError) and error.errno in _MACHINE:
        what = f"cannot use {error.filename}" if error.filename else "cannot write the output"
        reason = os.strerror(error.errno)
        return Inaccessible(f"{what}: {reason[0].lower()}{reason[1:]}")
    words = f"{type(error).__name__}: {error}".partition("\n")[0]
    path = load("scopes.cli.crash:write_crash_file")(invocation, error)
    hint = f"please report it with the details in {path}" if path else "please report it with the text above"
    return Bug(f"this is a bug in scopes: {words}", hint=hint)


def _abandon(stream: TextIO) -> None:
    """Send what is left in a buffer to nowhere, so that the interpreter does not fail on it at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
