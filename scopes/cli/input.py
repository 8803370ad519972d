"""Open the input of a command: a regular file, or standard input for `-`."""

from __future__ import annotations

import fcntl
import os
import select
import stat
import sys
import termios
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


def count_waiting_input(invocation: Invocation) -> int:
    """Return how many bytes of standard input can be read now, without reading them; 0 for a terminal or a device."""
    try:
        descriptor = invocation.stdin.fileno()
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode):
            return max(status.st_size - os.lseek(descriptor, 0, os.SEEK_CUR), 0)
        if stat.S_ISFIFO(status.st_mode):
            return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)
    except (OSError, ValueError):
        pass
    return 0


def is_open_pipe(invocation: Invocation) -> bool:
    """Return True if standard input is a pipe into which a program can still write."""
    try:
        descriptor = invocation.stdin.fileno()
        if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            return False
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return not any(event & select.POLLHUP for _, event in poll.poll(0))
    except (OSError, ValueError):
        return False


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
