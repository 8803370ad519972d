"""A program in a terminal of ours, which is typed into when it has shown what is waited for."""

from __future__ import annotations

import os
import pty
import select
import struct
import subprocess
import termios
import time
from fcntl import ioctl

_PATIENCE_SECONDS = 60


def in_terminal(words, keys, *, env, cwd, rows=30, columns=120):
    """Run a program; for each (text, keys) wait until the text is shown, and type the keys. Return all that it showed."""
    outer, inner = pty.openpty()
    ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def take_terminal():
        os.setsid()
        ioctl(0, termios.TIOCSCTTY, 0)

    streams = {"stdin": inner, "stdout": inner, "stderr": inner}
    process = subprocess.Popen(words, **streams, env=env, cwd=cwd, preexec_fn=take_terminal)  # noqa: PLW1509 # no threads
    os.close(inner)
    shown, position, waiting = b"", 0, list(keys)
    end = time.monotonic() + _PATIENCE_SECONDS
    try:
        while time.monotonic() < end:
            piece = _read(outer)
            if piece is None:
                break
            shown += piece
            if waiting and waiting[0][0].encode() in shown[position:]:
                position = len(shown)
                os.write(outer, waiting.pop(0)[1].encode())
    finally:
        process.kill()
        process.wait()
        os.close(outer)
    assert not waiting, f"{waiting[0][0]!r} was not shown: {shown[-2000:]!r}"
    return shown.decode("utf-8", "replace")


def _read(descriptor):
    """Return what can be read now; None at the end."""
    if not select.select([descriptor], [], [], 0.2)[0]:
        return b""
    try:
        return os.read(descriptor, 65536) or None
    except OSError:  # the other side is closed
        return None
