"""Records and their spans, from lines as agents and crashes leave them."""

from __future__ import annotations

import codecs
import json
from io import BytesIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scopes.importers.formats import json_lines
from scopes.importers.formats.json_lines import walk_records

PIECES = st.sampled_from([
    b'{"a":1}', b"[1,2]", b'{"a":NaN}', b'"\xe2\x80\xa8"', b'"\\ud800"', b"[" * 300, b"}{", b"{", b"\xff", b"\x00",
    b"\n", b"\r\n", b" ", b"\x1c\n", codecs.BOM_UTF8, "\u2028".encode(), "\u00a0".encode(),
])  # fmt: skip
CUT = "truncated (incomplete last record)"


def read(data):
    return list(walk_records(BytesIO(data), len(data)))


def spans(records):
    return [(record.span.offset, record.span.length) for record in records]


def are_adjacent(records, size):
    """Return True if the records are adjacent and cover every byte."""
    end = 0
    for offset, length in spans(records):
        if offset != end or length <= 0:
            return False
        end += length
    return end == size


@given(st.lists(PIECES).map(b"".join) | st.binary())
@example(codecs.BOM_UTF8 + b"\n{}\n")
@example("\u2028\n{}\n\u00a0\n".encode())
@example(b"\x1c\n{}")
@example(b"\x0b")
def test_every_byte_is_in_exactly_one_record(data):
    records = read(data)
    nothing = not data.decode(errors="replace").removeprefix("\ufeff").replace("\0", "").strip()
    assert are_adjacent(records, len(data)) or (nothing and not records)


def test_blocks_of_nul_that_a_crash_left_belong_to_the_record_before_them():
    data = b'{"a":1}\n\0\0\0{"a":2}\0\0\n\0\0\0\n{"a":3}\n\0\0'
    records = read(data)
    assert [record.value for record in records] == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert are_adjacent(records, len(data))


@given(st.lists(st.recursive(st.none() | st.text() | st.integers(), st.lists, max_leaves=5), min_size=1))
def test_documents_are_read_one_per_line(values):
    data = b"".join(json.dumps(value, ensure_ascii=True).encode() + b"\n" for value in values)
    records = read(data)
    assert [record.value for record in records] == values
    assert [record.line for record in records] == list(range(1, len(values) + 1))


@given(st.lists(st.dictionaries(st.text(), st.text()), min_size=1, max_size=5))
def test_adjacent_documents_are_read_with_their_own_spans(values):
    texts = [
        json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass").decode("utf-8", "ignore")
        for value in values
    ]
    data = "".join(texts).encode() + b"\n"
    records = read(data)
    assert len(records) == len(values)
    assert [data[start : start + length].strip().decode() for start, length in spans(records)] == texts


def test_a_line_separator_inside_a_string_ends_no_line():
    """B-17."""
    [record] = read('{"a":"x\u2028y\u2029z\x85"}\n'.encode())
    assert record.value == {"a": "x\u2028y\u2029z\x85"}


def test_a_truncated_last_line_is_reported():
    """C-21."""
    good, cut = read(b'{"a":1}\n{"a":"tw')
    assert (good.value, good.problem) == ({"a": 1}, None)
    assert (cut.value, cut.problem, cut.line) == (None, CUT, 2)


def test_a_complete_last_line_needs_no_line_end():
    assert [record.problem for record in read(b'{"a":1}\n{"b":2}')] == [None, None]


def test_only_the_given_number_of_bytes_is_read():
    data = b'{"a":1}\n{"b":2}\n'
    records = list(walk_records(BytesIO(data), len(data) - 4))
    assert [record.problem for record in records] == [None, CUT]
    assert are_adjacent(records, len(data) - 4)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"a":', "not valid JSON"),
        (b'{"a":"\xff"}', "not valid UTF-8"),
        ('{"a":1}'.encode("utf-16"), "not valid UTF-8"),
        (b'{"a":' + b"9" * 5000 + b"}", "an integer has too many digits"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b"[" * 201 + b"]" * 201, "nested too deeply"),
    ],
)
def test_an_invalid_line_is_a_problem_and_reading_continues(line, problem):
    """C-22, C-23, C-24, C-27."""
    before, bad, behind = read(b'{"n":1}\n' + line + b'\n{"n":2}\n')
    assert (before.value, bad.value, bad.problem, behind.value) == ({"n": 1}, None, problem, {"n": 2})


def test_documents_before_an_error_on_a_line_are_read():
    good, bad = read(b'{"n":1}{"n":\n')
    assert (good.value, bad.problem) == ({"n": 1}, "not valid JSON")
    assert spans([good, bad]) == [(0, 7), (7, 6)]


def test_a_byte_order_mark_belongs_to_the_first_record():
    """C-27."""
    [record] = read(codecs.BOM_UTF8 + b'{"a":1}\n')
    assert (record.value, record.span.offset) == ({"a": 1}, 0)


def test_blank_lines_belong_to_the_record_before_them_or_to_the_first():
    first, second = read(b'\n \n{"a":1}\n\n\r\n{"b":2}\n\n')
    assert (first.value, second.value) == ({"a": 1}, {"b": 2})
    assert spans([first, second]) == [(0, 14), (14, 9)]


@pytest.mark.parametrize("data", [b"", b"\n\n", b" \t\r\n", codecs.BOM_UTF8 + b"\n"])
def test_whitespace_alone_is_not_a_record(data):
    assert read(data) == []


def test_a_line_that_is_too_long_is_a_problem(monkeypatch):
    """P15."""
    monkeypatch.setattr(json_lines, "MAX_LINE_BYTES", 100)
    at_limit, over = b'"' + b"x" * 97 + b'"\n', b'"' + b"x" * 99 + b'"\n'
    records = read(at_limit + over + b"1\n" + b"y" * 500)
    assert [record.value for record in records] == ["x" * 97, None, 1, None]
    assert records[1].problem == records[3].problem == "the line is longer than 0 MiB"
    assert are_adjacent(records, len(at_limit + over) + 2 + 500)


@pytest.mark.slow
def test_very_many_adjacent_documents_are_read():
    """Copying the rest of the line for each document would take hours."""
    data = b"{}" * 100_000
    assert are_adjacent(read(data), len(data))


def test_a_last_record_that_is_cut_inside_a_character_is_one_that_is_not_complete():
    whole = '{"a":"é"}'.encode()
    assert [record.problem for record in read(whole[:7])] == [CUT]
    assert [record.problem for record in read(whole[:7] + b"\n")] == ["not valid UTF-8"]
