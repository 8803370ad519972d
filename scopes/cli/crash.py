"""Write a crash file for a bug report: versions, system and traceback.

It contains no arguments, because they may contain messages and secrets. Loaded only after a bug, because `traceback`
is slow to import.
"""

from __future__ import annotations

import os
import sys
import traceback

from scopes import __version__, clock
from scopes.cli.invocation import Invocation


def write_crash_file(invocation: Invocation, error: BaseException) -> str | None:
    """Write the crash file, readable only by its owner, and return its path.

    If it cannot be written, print its content to standard error and return None.
    """
    text = _details(invocation, error)
    directory = invocation.state_directory
    name = f"crash-{clock.now().replace(':', '').replace('.', '-')}-{os.getpid()}.txt"
    path = os.path.join(directory, name)
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        invocation.stderr.write(text)
        return None
    return path


def _details(invocation: Invocation, error: BaseException) -> str:
    python = sys.version.replace("\n", " ")
    system = " ".join(os.uname()[i] for i in (0, 2, 4))
    head = f"scopes {__version__}\npython {python}\nsystem {system}\ncommand {invocation.command or '(none)'}\n\n"
    return head + "".join(traceback.format_exception(error))
