"""Lines of a text file, and the blocks that they are collected to."""

from __future__ import annotations

from io import BytesIO

import pytest

from scopes.importers.formats import text_lines
from scopes.importers.formats.events import ByteRange
from scopes.importers.formats.text_lines import Block, Line, walk_lines


def lines_of(data, size=None):
    return list(walk_lines(BytesIO(data), len(data) if size is None else size))


@pytest.mark.parametrize("data", [b"", b"a", b"a\n", b"\n\n", b"a\r\nb", b"\xff\n\0\n", "é\u2028x\n".encode()])
def test_the_lines_are_all_bytes_of_the_file(data):
    found = lines_of(data)
    assert b"".join(line.data for line in found) == data
    assert [line.offset for line in found] == [sum(map(len, (a.data for a in found[:n]))) for n in range(len(found))]


def test_only_a_line_feed_ends_a_line():
    assert [line.data for line in lines_of("a\u2028b\x0bc\rd\ne".encode())] == ["a\u2028b\x0bc\rd\n".encode(), b"e"]


def test_what_was_appended_since_the_import_began_is_not_read():
    (line,) = lines_of(b"abc\ndef\n", 2)
    assert (line.data, line.is_cut) == (b"ab", True)


def test_a_file_that_became_shorter_ends_the_lines():
    assert [line.data for line in lines_of(b"a\n", 100)] == [b"a\n"]


def test_a_very_long_line_comes_in_pieces(monkeypatch):
    monkeypatch.setattr(text_lines, "_PIECE_BYTES", 4)
    found = lines_of(b"abcdefgh\nij\nk")
    assert [(line.data, line.starts, line.is_cut) for line in found] == [
        (b"abcd", True, False), (b"efgh", False, False), (b"\n", False, False), (b"ij\n", True, False), (b"k", True, True),
    ]  # fmt: skip


@pytest.mark.parametrize(("data", "blank"), [(b"\n", True), (b" \t\r\n", True), (b">\n", False), (b"", True)])
def test_a_line_of_whitespace_is_blank(data, blank):
    assert Line(0, data).is_blank is blank


def test_a_block_has_the_bytes_of_its_lines():
    block = Block("answer", Line(7, b"a\r\n"))
    block.add(Line(10, b"b\n"))
    assert (block.span, block.data, block.text) == (ByteRange(7, 5), b"a\r\nb\n", "a\nb\n")


def test_a_block_that_is_not_utf_8_has_replacement_characters():
    block = Block("answer", Line(0, b"a\xff\n"))
    assert (block.is_valid, block.text) == (False, "a\ufffd\n")
    assert Block("answer", Line(0, "é".encode())).is_valid


def test_a_block_is_full_at_its_limit(monkeypatch):
    monkeypatch.setattr(text_lines, "MAX_BLOCK_BYTES", 4)
    block = Block("answer", Line(0, b"abc"))
    assert not block.is_full
    block.add(Line(3, b"d"))
    assert block.is_full
