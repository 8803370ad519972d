from __future__ import annotations

import errno
import io
import os
import subprocess
import sys

import pytest

from scopes.errors import Inaccessible
from scopes.render.stream import OutputStream
from tests.render.sample import Screen

XTERM = {"TERM": "xterm"}


def test_a_capable_terminal_is_recognized():
    assert OutputStream(Screen(), XTERM, "auto").capable
    assert OutputStream(Screen(), XTERM, "auto").color
    dumb = OutputStream(Screen(), {"TERM": "dumb"}, "auto")
    assert (dumb.terminal, dumb.capable, dumb.color) == (True, False, False)
    pipe = OutputStream(io.StringIO(), XTERM, "auto")
    assert (pipe.terminal, pipe.capable, pipe.color) == (False, False, False)


@pytest.mark.parametrize(
    ("environ", "size"),
    [
        ({}, (80, 24)),
        ({"COLUMNS": "200", "LINES": "50"}, (200, 50)),
        ({"COLUMNS": "0"}, (80, 24)),
        ({"COLUMNS": "wide", "LINES": "²"}, (80, 24)),
    ],
)
def test_a_size_comes_from_the_environment_or_the_default(environ, size):
    assert OutputStream(io.StringIO(), environ, "auto").size() == size


def test_the_size_of_a_real_terminal_is_used():
    _, end = os.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 111, 0, 0))
    with open(end, "w") as stream:
        assert OutputStream(stream, {}, "auto").size() == (111, 33)


def test_utf8_is_written_whatever_the_locale():
    code = (
        "import sys; from scopes.render.stream import OutputStream\n"
        "OutputStream(sys.stdout, {}, 'auto').write('\\xe9\\u65e5\\udcff\\n')"
    )
    environment = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONPATH": "."}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert done.stdout == "é日\\udcff\n".encode()


def test_a_full_disk_is_a_scopes_error():
    """P12."""
    with open(os.open("/dev/full", os.O_WRONLY), "w", closefd=False) as stream:
        channel = OutputStream(stream, {}, "auto")
        channel.write("x")
        with pytest.raises(Inaccessible, match=r"^cannot write the output: no space left on device$"):
            channel.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def test_a_closed_pipe_is_passed_on_unchanged():
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as stream:
        channel = OutputStream(stream, {}, "auto")
        channel.write("x")
        with pytest.raises(BrokenPipeError):
            channel.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def test_a_failed_write_is_reported_too():
    with open(os.open("/dev/full", os.O_WRONLY), "w", closefd=False) as stream:
        channel = OutputStream(stream, {}, "auto")
        with pytest.raises(Inaccessible):
            channel.write("x" * 100_000)
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Sparing(io.RawIOBase):
    """A file that takes a few bytes at a time, as a pipe or a nearly full disk does, and at last none."""

    def __init__(self, room):
        self.taken = b""
        self.room = room

    def writable(self):
        return True

    def write(self, data):
        if len(self.taken) >= self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        piece = bytes(data)[: min(7, self.room - len(self.taken))]
        self.taken += piece
        return len(piece)


def test_without_a_buffer_nothing_is_cut_off():
    """PYTHONUNBUFFERED: Python itself takes a part for the whole."""
    file = Sparing(10_000)
    channel = OutputStream(io.TextIOWrapper(file, write_through=True), {}, "auto")
    channel.write("a line of text, längere\n" * 20)
    channel.write_bytes(b"and bytes\n" * 5)
    channel.flush()
    assert file.taken == "a line of text, längere\n".encode() * 20 + b"and bytes\n" * 5


def test_without_a_buffer_a_full_disk_is_a_refusal():
    channel = OutputStream(io.TextIOWrapper(Sparing(100), write_through=True), {}, "auto")
    with pytest.raises(Inaccessible, match="no space left"):
        channel.write("x" * 1000)
