"""The records of an event stream, as lines, as an array or as one object, between text of other programs."""

from __future__ import annotations

import json
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.importers.formats.stream_documents import digest_of_record, first_records, name_stream, walk_stream

RECORDS = [{"type": "init", "n": 1}, {"text": "é🎉\n{}[]", "deep": [{"a": [1, 2]}]}, {}, {"last": None}]
OBJECTS = st.dictionaries(
    st.text(max_size=3),
    st.none() | st.integers() | st.text(max_size=5) | st.lists(st.booleans(), max_size=2),
    max_size=3,
)


def walk(data):
    """Read the records and check that their bytes are adjacent and cover the source."""
    found = list(walk_stream(BytesIO(data), len(data)))
    spans = [(record.span.offset, record.span.length) for record in found]
    assert [offset for offset, _ in spans] == [sum(length for _, length in spans[:at]) for at in range(len(spans))]
    assert sum(length for _, length in spans) == (len(data) if found else 0)
    assert [record.number for record in found] == list(range(len(found)))
    return found


def values(data):
    return [record.value for record in walk(data)]


def problems(data):
    return [record.problem for record in walk(data)]


@pytest.mark.parametrize(
    "written",
    [
        "\n".join(map(json.dumps, RECORDS)),
        "\n".join(map(json.dumps, RECORDS)) + "\n\n",
        "\r\n".join(map(json.dumps, RECORDS)),
        "".join(map(json.dumps, RECORDS)),
        "\n".join(json.dumps(each, indent=2) for each in RECORDS),
        json.dumps(RECORDS),
        json.dumps(RECORDS, indent=4, ensure_ascii=False),
        "\ufeff" + "\n".join(map(json.dumps, RECORDS)),
        "\n\n  " + json.dumps(RECORDS) + "\n",
    ],
)
def test_the_same_records_are_read_however_they_are_written(written):
    assert values(written.encode()) == RECORDS


@pytest.mark.parametrize("data", [b"", b"\n", b" \r\n\t\n", b"\xef\xbb\xbf"])
def test_a_source_of_nothing_but_blanks_has_no_record(data):
    assert walk(data) == []


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"Loading...\n", ["not valid JSON"]),
        (b'"text"\n', ["not an object"]),
        (b"7\n", ["not an object"]),
        (b"null", ["not an object"]),
        (b"[7, 8]\n", ["not an object"]),
        (b"[]", ["not an object"]),
        (b'{"a": "\xff"}\n', ["not valid UTF-8"]),
        (b'{"a":' * 250 + b"1" + b"}" * 250, ["nested too deeply"]),
        (b'{"a": 1' + b"0" * 5000 + b"}", ["an integer has too many digits"]),
        (b'{"a": 1', ["not valid JSON"]),
        (b'{"a": tru}\n{"b": 1}\n', ["not valid JSON", None]),
        (b'{"b": 1}\nDone.\n{"c": 1}', [None, "not valid JSON", None]),
        (b'one\ntwo\n{"b": 1}', ["not valid JSON", None]),
    ],
)
def test_what_is_no_record_is_kept_with_the_reason(data, expected):
    assert problems(data) == expected


def test_text_before_and_between_records_belongs_to_no_record():
    data = b'Warning: no color\n{"a": 1}\n[retry] in 3 s\n{"b": 2}\n'
    assert [record.value for record in walk(data) if record.problem is None] == [{"a": 1}, {"b": 2}]
    assert data[: walk(data)[0].span.length] == b"Warning: no color\n"


def test_an_array_that_was_cut_off_has_its_whole_elements():
    data = json.dumps(RECORDS[:2])[:-1].encode() + b', {"type": "res'
    assert [value for value in values(data) if value is not None] == RECORDS[:2]
    assert problems(data)[-1] == "not valid JSON"


def test_a_line_separator_of_unicode_does_not_end_a_record():
    assert values('{"a": "x\u2028y"}\n{"b": 1}'.encode()) == [{"a": "x\u2028y"}, {"b": 1}]


@given(st.lists(OBJECTS, max_size=4), st.sampled_from([None, 1]), st.booleans())
def test_any_objects_are_read_as_they_were_written(records, indent, array):
    written = (
        json.dumps(records, indent=indent) if array else "\n".join(json.dumps(each, indent=indent) for each in records)
    )
    expected = records if records or not array else [None]
    assert values(written.encode()) == expected


@given(st.binary(max_size=60))
def test_any_bytes_are_covered_by_records(data):
    walk(data)


@given(st.lists(OBJECTS, min_size=1, max_size=4), st.data())
def test_records_before_a_cut_are_read_whole(records, data):
    lines = [json.dumps(each).encode() + b"\n" for each in records]
    size = data.draw(st.integers(0, sum(map(len, lines))))
    whole = sum(sum(map(len, lines[: count + 1])) <= size for count in range(len(lines)))
    assert values(b"".join(lines)[:size])[:whole] == records[:whole]


def test_the_first_forty_documents_tell_the_format():
    noise, record = b"noise\n{}\n" * 19, b'{"type": "init"}\n'
    assert {"type": "init"} in first_records(noise + record)
    assert {"type": "init"} not in first_records(noise + b"{}\n{}\n" + record)


def test_a_digest_depends_on_the_value_and_not_on_the_spaces_around_it():
    one, two = first_records(b'{"a":1,"b":[2]}\n{ "a": 1,\n "b": [ 2 ] }')
    assert digest_of_record(one) == digest_of_record(two)
    assert len({digest_of_record(each) for each in (None, {}, {"a": 1}, {"a": 2}, {"a": "\ud800"})}) == 5


def test_a_stream_is_named_after_its_first_record():
    assert name_stream([{"a": 1}]) == name_stream(iter([{"a": 1}, {"b": 2}])) == f"stream-{digest_of_record({'a': 1})}"
    assert name_stream([]) == f"stream-{digest_of_record(None)}"
