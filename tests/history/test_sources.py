"""Stored sources: the bytes of messages in a stream of chunks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.check.session_files import number_lines
from scopes.history.sources import SourceRecord, read_spans
from scopes.ids import Oid

ROOT, OTHER = Oid("1" * 40), Oid("2" * 40)
RECORD = SourceRecord(
    format="pi", native_id="s1", part=None, size=3, digest="d" * 64, parser=1, path="/a.jsonl", root=ROOT
)


@pytest.mark.parametrize(
    ("chunks", "spans", "pieces"),
    [
        ([b"abcdef"], [(0, 2), (2, 4)], [b"ab", b"cdef"]),
        ([b"abc", b"def"], [(1, 4)], [b"bcde"]),
        ([b"a", b"b", b"c", b"d"], [(0, 1), (3, 1)], [b"a", b"d"]),
        ([b"abc", b"def"], [(4, 2)], [b"ef"]),
        ([b"abc"], [(0, 3), (0, 3)], [b"abc", b"abc"]),
        ([b"abc", b"", b"def"], [(2, 2)], [b"cd"]),
        ([b"abc"], [(1, 0)], [b""]),
        ([b"abc"], [(2, 5)], [b"c"]),
        ([b"abc"], [(7, 2)], [b""]),
        ([], [(0, 2)], [b""]),
        ([b"abc"], [], []),
    ],
)
def test_spans_are_cut_out_of_the_chunks(chunks, spans, pieces):
    assert list(read_spans(iter(chunks), spans)) == pieces


@given(st.lists(st.binary(max_size=6), max_size=6), st.data())
def test_any_ascending_spans_are_those_of_the_whole_stream(chunks, data):
    whole = b"".join(chunks)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    spans = [(begin, end - begin) for begin, end in zip(cuts[::2], cuts[1::2], strict=False)]
    assert list(read_spans(iter(chunks), spans)) == [whole[offset : offset + length] for offset, length in spans]


@given(st.lists(st.text("a\n", max_size=4)), st.data())
def test_the_line_of_an_offset_is_one_more_than_the_newlines_before_it(chunks, data):
    whole = "".join(chunks)
    offsets = sorted(data.draw(st.sets(st.integers(0, len(whole) + 2), max_size=4)))
    known = [1 + whole[:offset].count("\n") for offset in offsets if offset < len(whole)]
    assert number_lines([chunk.encode() for chunk in chunks], offsets) == known


def test_the_version_of_a_source_depends_on_those_that_it_continues():
    assert RECORD.version == RECORD.digest
    one, two = replace(RECORD, base="b1"), replace(RECORD, base="b2")
    assert len({RECORD.version, one.version, two.version, replace(two, digest="e" * 64).version}) == 4


@pytest.mark.parametrize(
    ("sessions", "more"),
    [((), ()), ((("k", ROOT),), ()), ((("k", OTHER), ("l", OTHER), ("m", ROOT)), (OTHER,))],
)
def test_the_other_roots_of_a_source_are_listed_once(sessions, more):
    assert replace(RECORD, sessions=sessions).more_roots == more
