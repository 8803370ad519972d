"""Start a command in a process group of its own, and kill it together with everything that it started.

Two commands of the user are run: the summarizer, and the command of `bisect run`. What they read, write and mean is
not here.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress


def start_group(
    command: Sequence[str],
    data: bytes | None,
    *,
    stdout: int,
    stderr: int | None = None,
    environ: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a command, without a shell, with `data` on standard input; None is the null device.

    stdout, stderr: as for subprocess.Popen; None is our own. environ: None is our own.

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
        )


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a command and every process of its group; the caller waits for it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
