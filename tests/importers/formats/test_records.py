"""Records and their spans, from lines and streams as agents and crashes leave them."""

from __future__ import annotations

import codecs
import json
import tracemalloc
from io import BytesIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scopes import fast_json
from scopes.importers.formats import records as module
from scopes.importers.formats.collection import begins_with_row, encode_file, encode_row, read_row
from scopes.importers.formats.records import (
    MAX_DEPTH,
    NOT_DECODED,
    decode,
    decode_fast,
    decode_text,
    digest_of_record,
    digest_of_values,
    find_text_field,
    first_records,
    name_stream,
    walk_documents,
    walk_records,
    walk_stream,
)

PIECES = st.sampled_from([
    b'{"a":1}', b"[1,2]", b'{"a":NaN}', b'"\xe2\x80\xa8"', b'"\\ud800"', b"[" * 300, b"}{", b"{", b"\xff", b"\x00",
    b"\n", b"\r\n", b" ", b"\x1c\n", codecs.BOM_UTF8, "\u2028".encode(), "\u00a0".encode(), b'{"a": 1.0}', b"1e999",
    b'{"a":1,"a":2}', b"-0", b"12345678901234567890123", b'"\\ud83d\\ude00"', b"[1e5,-0.0]", b'{"b":"\x01"}',
])  # fmt: skip
CUT = "truncated (incomplete last record)"
RECORDS = [{"type": "init", "n": 1}, {"text": "é🎉\n{}[]", "deep": [{"a": [1, 2]}]}, {}, {"last": None}]
OBJECTS = st.dictionaries(
    st.text(max_size=3),
    st.none() | st.integers() | st.text(max_size=5) | st.lists(st.booleans(), max_size=2),
    max_size=3,
)


@pytest.fixture
def _fast():
    """Switch msgspec on, where it is installed."""
    pytest.importorskip("msgspec")
    before = fast_json.library
    fast_json.enable()
    yield
    fast_json.library = before


def read(data, walk=walk_records):
    """Read all records and check that they are adjacent, cover every byte and are numbered."""
    found = list(walk(BytesIO(data), len(data)))
    at = 0
    for number, record in enumerate(found):
        assert (record.span.offset, record.number) == (at, number)
        assert record.span.length > 0
        at += record.span.length
    assert at == (len(data) if found else 0)
    return found


def lines(data):
    return [(record.value, record.problem) for record in read(data)]


def stream(data):
    return [(record.value, record.problem) for record in read(data, walk_stream)]


@given(st.lists(PIECES).map(b"".join) | st.binary())
@example(codecs.BOM_UTF8 + b"\n{}\n")
@example("\u2028\n{}\n\u00a0\n".encode())
def test_every_byte_is_in_exactly_one_record_of_lines_and_streams(data):
    """Blanks alone yield no record."""
    for walk in (walk_records, walk_stream):
        assert bool(read(data, walk)) == bool(data.replace(codecs.BOM_UTF8, b"").strip(b" \t\r\n\0"))


@pytest.mark.usefixtures("_fast")
@given(st.lists(PIECES, max_size=6), st.sampled_from([b"\n", b"\r\n", b""]))
def test_msgspec_changes_no_record(pieces, end):
    """Whatever it refuses or reads differently is left to `json`."""
    data = b"".join(piece + end for piece in pieces)
    fast, library = repr(read(data)), fast_json.library
    fast_json.library = None
    try:
        assert repr(read(data)) == fast
    finally:
        fast_json.library = library


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.0", 1.0), ("1e5", 100000.0), ("-0", 0), ("1e999", "1e999"), ("NaN", "NaN"), ("-Infinity", "-Infinity"),
        ("12345678901234567890123", 12345678901234567890123), ('{"a":1,"a":2}', {"a": 2}), ('"\\ud800"', "\ud800"),
        ('"a\x01\n"', "a\x01\n"), ("[" * 200 + "]" * 200, None),
    ],
)  # fmt: skip
def test_a_value_is_read_as_it_can_be_stored(text, value):
    """C-25, C-26: of repeated keys the last one, numbers that are not finite as text."""
    assert value is None or repr(decode(text)) == repr(value)


@pytest.mark.parametrize("text", ["[" * 201 + "]" * 201, "[" * 100_000, '{"a":' * 201 + "1" + "}" * 201])
def test_what_is_nested_deeper_than_can_be_stored_is_refused(text):
    with pytest.raises((RecursionError, ValueError)):
        decode(text)


@pytest.mark.usefixtures("_fast")
def test_the_fast_decoder_keeps_the_limit_of_nesting_and_finds_single_fields():
    assert decode_fast(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH) is not NOT_DECODED
    assert decode_fast(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1)) is NOT_DECODED
    assert decode_fast(b'{"a": [1, 2.50]}\n') == {"a": [1, 2.5]}
    texts = [b'{"n":1,"uuid":"x"}', b'{"uuid":7}', b'{"a":1}', b"[1]", b'{"uuid":"x"']
    assert [find_text_field(text, "uuid") for text in texts] == ["x", None, None, NOT_DECODED, NOT_DECODED]


@given(st.lists(st.recursive(st.none() | st.text() | st.integers(), st.lists, max_leaves=5), min_size=1))
def test_documents_are_read_one_per_line(values):
    found = read(b"".join(json.dumps(value).encode() + b"\n" for value in values))
    assert [record.value for record in found] == values
    assert [record.line for record in found] == list(range(1, len(values) + 1))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ('{"a":"x\u2028y\u2029z\x85"}\n'.encode(), [({"a": "x\u2028y\u2029z\x85"}, None)]),  # B-17
        (b'{"a":1}\n{"a":"tw', [({"a": 1}, None), (None, CUT)]),  # C-21
        (b'{"a":1}\n{"b":2}', [({"a": 1}, None), ({"b": 2}, None)]),
        (b'{"n":1}{"n":2}\n', [({"n": 1}, None), ({"n": 2}, None)]),
        (b'{"n":1}{"n":\n', [({"n": 1}, None), (None, "not valid JSON")]),
        (codecs.BOM_UTF8 + b'{"a":1}\n', [({"a": 1}, None)]),  # C-27
        (b'\n \n{"a":1}\n\n\r\n{"b":2}\n\n', [({"a": 1}, None), ({"b": 2}, None)]),
        (b'{"a":1}' + bytes(300) + b'\n{"b":2}\n' + bytes(9) + b'\n\0\0{"c":3}\n\0', [({"a": 1}, None), ({"b": 2}, None), ({"c": 3}, None)]),
        ('{"a":"é"}'.encode()[:7], [(None, CUT)]),
        ('{"a":"é"}'.encode()[:7] + b"\n", [(None, "not valid UTF-8")]),
    ],
    ids=range(10),
)  # fmt: skip
def test_lines_are_read_as_agents_and_crashes_leave_them(data, expected):
    """NUL bytes around a record, which a crash leaves, are blanks."""
    assert lines(data) == expected


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"a":', "not valid JSON"),
        (b'{"a":"\xff"}', "not valid UTF-8"),
        (b'{"a":' + b"9" * 5000 + b"}", "an integer has too many digits"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    ],
    ids=range(4),
)
def test_an_invalid_line_is_a_problem_and_reading_continues(line, problem):
    """C-22, C-23, C-24, C-27."""
    assert lines(b'{"n":1}\n' + line + b'\n{"n":2}\n') == [({"n": 1}, None), (None, problem), ({"n": 2}, None)]


def test_only_the_given_number_of_bytes_is_read():
    """The file grows while it is read."""
    data = b'{"a":1}\n{"b":2}\n'
    assert [record.problem for record in walk_records(BytesIO(data), len(data) - 4)] == [None, CUT]
    assert [record.value for record in walk_stream(BytesIO(data), 8)] == [{"a": 1}]


def test_a_line_or_a_document_that_is_too_long_is_a_problem(monkeypatch):
    """P15."""
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    monkeypatch.setattr(module, "BLOCK_BYTES", 16)
    found = read(b'"' + b"x" * 97 + b'"\n"' + b"x" * 99 + b'"\n1\n' + b"y" * 500)
    assert [record.value for record in found] == ["x" * 97, None, 1, None]
    assert found[1].problem == found[3].problem == "the line is longer than 0 MiB"
    assert stream(b'{"n":"' + b"x" * 300 + b'"}\n{"n":2}')[0][1] is not None


@pytest.mark.slow
def test_very_many_adjacent_documents_are_read():
    """Copying the rest of the line for each document would take hours."""
    assert len(read(b"{}" * 100_000)) == 100_000


@pytest.mark.parametrize(
    "written",
    [
        "\n".join(map(json.dumps, RECORDS)) + "\n\n",
        "\r\n".join(map(json.dumps, RECORDS)),
        "".join(map(json.dumps, RECORDS)),
        "\n".join(json.dumps(each, indent=2) for each in RECORDS),
        json.dumps(RECORDS),
        json.dumps(RECORDS, indent=4, ensure_ascii=False),
        "\n\n  \ufeff" + json.dumps(RECORDS) + "\n",
    ],
)
def test_the_same_records_of_a_stream_are_read_however_they_are_written(written):
    assert stream(written.encode()) == [(record, None) for record in RECORDS]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"Loading...\n", ["not valid JSON"]),
        (b'"text"\n', ["not an object"]),
        (b"[7, 8]\n", ["not an object"]),
        (b"[]", ["not an object"]),
        (b'{"a": "\xff"}\n', ["not valid UTF-8"]),
        (b'{"a":' * 250 + b"1" + b"}" * 250, ["nested too deeply"]),
        (b'{"a": 1' + b"0" * 5000 + b"}", ["an integer has too many digits"]),
        (b'{"a": tru}\n{"b": 1}\n', ["not valid JSON", None]),
        (b'{"b": 1}\nDone.\n{"c": 1}', [None, "not valid JSON", None]),
        (b'one\ntwo\n{"b": 1}', ["not valid JSON", None]),
        (b'[{"n":1},{"n":tea},{"n":3}]', [None, "not valid JSON", None]),
        (b'[{"n":1},{"n":[1,2', [None, "not valid JSON"]),
    ],
    ids=range(12),
)
def test_what_is_no_record_of_a_stream_is_kept_with_the_reason(data, expected):
    assert [problem for _, problem in stream(data)] == expected


@given(st.lists(OBJECTS, min_size=1, max_size=4), st.sampled_from([None, 1]), st.data())
def test_records_of_a_stream_before_a_cut_are_read_whole(records, indent, data):
    written = [json.dumps(each, indent=indent).encode() + b"\n" for each in records]
    size = data.draw(st.integers(0, sum(map(len, written))))
    whole = sum(sum(map(len, written[: count + 1])) <= size for count in range(len(written)))
    assert [value for value, _ in stream(b"".join(written)[:size])][:whole] == records[:whole]


def test_positions_are_bytes_in_blocks_of_any_size(monkeypatch):
    texts = [json.dumps({"n": "é日🌍" * size}, ensure_ascii=False) for size in range(30)]
    data = ("[" + ",\n".join(texts) + "]").encode()
    whole = read(data, walk_stream)
    assert [record.span.offset for record in whole[1:]] == [data.index(text.encode()) for text in texts[1:]]
    for size in (1, 2, 7, 64):
        monkeypatch.setattr(module, "BLOCK_BYTES", size)
        assert read(data, walk_stream) == whole


def test_a_long_array_is_not_held_in_memory(monkeypatch):
    """Bounded memory: one document at a time."""
    monkeypatch.setattr(module, "BLOCK_BYTES", 1 << 14)
    data = b"[" + b",".join(b'{"n":"%s"}' % (b"x" * 1000) for _ in range(5000)) + b"]"
    source = BytesIO(data)
    tracemalloc.start()
    count = sum(1 for _ in walk_documents(source, len(data), lambda text, at: text.startswith("{", at)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 5000
    assert peak < 300_000


def test_the_search_after_an_invalid_document_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "_MAX_TRIES", 3)
    assert len(stream(b"{" + b"\n[1]" * 10 + b'\n{"n":1}')) == 1


def test_the_first_forty_documents_tell_the_format():
    noise, record = b"noise\n{}\n" * 19, b'{"type": "init"}\n'
    assert {"type": "init"} in first_records(noise + record)
    assert {"type": "init"} not in first_records(noise + b"{}\n{}\n" + record)


def test_a_session_without_a_name_is_named_after_its_records():
    one, two = first_records(b'{"a":1,"b":[2]}\n{ "a": 1,\n "b": [ 2 ] }')
    assert digest_of_record(one) == digest_of_record(two)
    assert len({digest_of_record(each) for each in (None, {}, {"a": 1}, {"a": 2}, {"a": "\ud800"})}) == 5
    assert name_stream([{"a": 1}]) == name_stream(iter([{"a": 1}, {"b": 2}])) == f"stream-{digest_of_record({'a': 1})}"
    assert digest_of_values([one, {"a": 2}]) != digest_of_values([{"a": 2}, one])


@given(
    st.dictionaries(
        st.text(),
        st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text() | st.binary(),
    )
)
def test_a_row_of_a_database_is_read_again_as_it_was_written(columns):
    (record,) = read(encode_row("t", columns))
    assert read_row(record.value) == ("t", columns)
    assert encode_row("t", dict(reversed(columns.items()))) == encode_row("t", columns)


def test_what_json_cannot_write_of_a_row_is_base64_or_text():
    line = encode_row("t", {"b": b"\xff", "i": float("inf"), "x": decode_text(b"\xfe")})
    assert json.loads(line)["row"] == {"b": {"bytes": "/w=="}, "i": {"real": "inf"}, "x": {"text": "/g=="}}
    row = read_row(json.loads(line))
    assert row is not None
    assert row.columns == {"b": b"\xff", "i": None, "x": b"\xfe"}
    assert read_row(json.loads(encode_file("a/b.json", b"\xff{}"))) == ("a/b.json", {"content": b"\xff{}"})
    assert [read_row(value) for value in (None, 7, {}, {"table": 1, "row": {}}, {"table": "t", "row": []})] == [
        None
    ] * 5
    assert begins_with_row(line, ["s", "t"])
    assert not begins_with_row(line, ["tt"])
