"""Keep a password that the user gave to git while a command runs, so that git asks once and not for each step.

This is git's credential cache: a process that git starts, with the password in its memory and a socket that only the
user can open. It ends with the command, or by itself if the command was killed. The password is on no command line and
in no file, and is forgotten if the server refuses it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from shlex import quote
from typing import Final

from scopes.store.git_program import find_git

_TIMEOUT_SECONDS: Final = 900
_END_SECONDS: Final = 10


@contextmanager
def keep_credentials(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the path of a socket for `helper_of`; at the end of the block nothing is kept any more."""
    directory = tempfile.mkdtemp(prefix="scopes-git-")  # with the mode that git requires, 0700
    socket = os.path.join(directory, "socket")
    try:
        yield socket
    finally:
        program = find_git()
        if program is not None and os.path.exists(socket):
            with suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(
                    [program, "credential-cache", f"--socket={socket}", "exit"],
                    env=dict(environ),
                    cwd=directory,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=_END_SECONDS,
                    check=False,
                )
        shutil.rmtree(directory, ignore_errors=True)


def helper_of(program: str, socket: str) -> str:
    """Return the value of `credential.helper` for a git program; git adds what the helper is to do."""
    return f"!{quote(program)} credential-cache --timeout={_TIMEOUT_SECONDS} --socket={quote(socket)} 2>/dev/null"
