"""Open the input of a command: a regular file, or standard input for `-`."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

from scopes.cli.invocation import Invocation
from scopes.errors import Inaccessible, Invalid, NotFound

STANDARD_INPUT = "-"


def has_piped_input(invocation: Invocation) -> bool:
    """Return True if standard input is a pipe or a file, not a terminal, a device or closed."""
    try:
        mode = os.fstat(invocation.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def open_input(invocation: Invocation, path: str) -> BinaryIO:
    """Open a file, or standard input for `-`, for reading bytes; at a terminal, print how to end the input.

    Raises:
        NotFound: the file does not exist.
        Invalid: it is a directory, a device or a pipe, whose input might never end (A-10).
        Inaccessible: it cannot be read.
    """
    if path == STANDARD_INPUT:
        if invocation.stdin.isatty():
            invocation.output().say("reading from the terminal; end with Ctrl-D on an empty line")
        return invocation.stdin.buffer
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"file {path!r} not found", hint="check the path") from error
    except OSError as error:
        raise Inaccessible(f"cannot read {path!r}: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Invalid(f"{path!r} is not a regular file", hint="to read a pipe or a device, use standard input: -")
    return open(descriptor, "rb")
