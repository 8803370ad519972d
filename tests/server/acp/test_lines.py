"""Lines on pipes: of any length and cut anywhere, written whole by several threads, until the reader is gone."""

from __future__ import annotations

import os
import threading
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import Refused
from scopes.server.acp.lines import LineWriter, read_lines


@pytest.fixture
def pipe():
    """The two ends of a pipe; what a test has closed stays closed."""
    ends = list(os.pipe())
    yield ends
    for end in ends:
        if end >= 0:
            os.close(end)


def send(end, *pieces):
    """Write pieces in a thread, since a pipe holds 64 KiB, and close the end."""

    def write():
        with suppress(BrokenPipeError), open(end, "wb", buffering=0) as file:
            for piece in pieces:
                rest = memoryview(piece)
                while rest:
                    rest = rest[file.write(rest) :]

    thread = threading.Thread(target=write)
    thread.start()
    return thread


def received(pieces, **limits):
    """Return the lines that are read of some pieces."""
    source, sink = os.pipe()
    thread = send(sink, *pieces)
    try:
        return list(read_lines(source, **limits))
    finally:
        os.close(source)
        thread.join()


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_the_lines_together_are_the_bytes_however_they_were_cut(pieces):
    lines = received(pieces)
    assert b"".join(lines) == b"".join(pieces)
    assert all(line.endswith(b"\n") for line in lines[:-1])
    assert all(line.count(b"\n") <= 1 and line for line in lines)


def test_a_line_may_be_longer_than_a_pipe_holds():
    lines = [b"x" * 3_000_000 + b"\n", b"short\n", b"y" * 200_000 + b"\n"]
    assert received([b"".join(lines)]) == lines


def test_a_last_line_needs_no_newline():
    assert received([b"one\ntwo"]) == [b"one\n", b"two"]


def test_blank_lines_and_carriage_returns_are_kept():
    assert received([b"\n\r\n a\r\n\0\n"]) == [b"\n", b"\r\n", b" a\r\n", b"\0\n"]


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_that_is_too_long_is_refused_with_the_option_that_allows_it(end):
    """Also one that never ends: it must not fill the memory."""
    with pytest.raises(Refused, match="longer than 100,000 bytes") as caught:
        received([b"a\n", b"x" * 300_000 + end], max_bytes=100_000)
    assert caught.value.hint == "raise the limit: --max-line-mb N"


def test_many_lines_that_are_together_longer_than_the_limit_are_read():
    lines = [b"x" * 900 + b"\n"] * 500
    assert received([b"".join(lines)], max_bytes=1000) == lines


def test_lines_of_several_threads_are_not_mixed(pipe):
    """One thread passes on answers, another one requests of our own."""
    writer = LineWriter(pipe[1])
    lines = [bytes([65 + number]) * 100_000 + b"\n" for number in range(6)]
    threads = [threading.Thread(target=writer.write, args=(line,)) for line in lines]
    for thread in threads:
        thread.start()
    source = read_lines(pipe[0])
    assert sorted(next(source) for _ in lines) == lines
    for thread in threads:
        thread.join()


def test_a_reader_that_is_gone_ends_the_writing_without_an_error(pipe):
    writer = LineWriter(pipe[1])
    assert writer.write(b"one\n") is True
    os.close(pipe[0])
    pipe[0] = -1
    assert writer.write(b"two\n") is False
    assert writer.is_open is False
    assert writer.write(b"three\n") is False


def test_a_writer_that_is_closed_shows_the_reader_the_end(pipe):
    writer = LineWriter(pipe[1])
    writer.write(b"one\n")
    writer.close()
    pipe[1] = -1
    assert list(read_lines(pipe[0])) == [b"one\n"]
    assert writer.write(b"two\n") is False
    writer.close()  # a second time does nothing


def test_a_writer_can_be_closed_while_it_waits_for_the_reader(pipe):
    """An agent that does not read must not keep the proxy from ending it."""
    writer = LineWriter(pipe[1])
    stuck = threading.Thread(target=writer.write, args=(b"x" * 1_000_000 + b"\n",))
    stuck.start()
    assert os.read(pipe[0], 1) == b"x"  # it has begun
    writer.close()
    assert writer.is_open is False
    os.close(pipe[0])
    pipe[0] = -1
    stuck.join(30)
    assert not stuck.is_alive()
