"""A stream of JSON documents in any layout, with one at a time in memory."""

from __future__ import annotations

import json
import tracemalloc
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.importers.formats import json_stream
from scopes.importers.formats.json_stream import find_value_end, skip_blanks, source_length, walk_documents


def is_object(text, start):
    """Return True at an object with a name; such objects are the documents of these tests."""
    return text.startswith('{"n"', start)


def walk(data):
    """Return the documents of bytes; assert that their ranges cover all bytes."""
    found = list(walk_documents(BytesIO(data), len(data), is_object))
    at = 0
    for document in found:
        assert document.begin == at
        assert document.begin <= document.start < document.end
        text = document.text.encode("utf-8", "surrogateescape")
        assert data[document.start : document.start + len(text)] == text
        at = document.end
    assert at == (len(data) if found else 0)
    return found


def texts(data):
    return [document.text for document in walk(data)]


@pytest.mark.parametrize(
    "data",
    [
        b'{"n":1}{"n":2}',
        b'{"n":1}\n{"n":2}\n',
        b'[{"n":1},{"n":2}]',
        b' [ {"n":1} , {"n":2} ] \n',
        b'\xef\xbb\xbf{"n":1}\r\n\r\n{"n":2}',
    ],
)
def test_a_sequence_and_an_array_give_the_same_documents(data):
    assert texts(data) == ['{"n":1}', '{"n":2}']


def test_an_array_of_other_values_is_one_document():
    assert texts(b"[1, 2]\n[3]") == ["[1, 2]", "[3]"]
    assert texts(b'[[{"n":1}]]') == ['[[{"n":1}]]']
    assert texts(b"[]") == ["[]"]


def test_bytes_between_documents_belong_to_the_first():
    first, second = walk(b' [ {"n":1} , {"n":2} ] ')
    assert (first.begin, first.start, first.end) == (0, 3, 13)
    assert (second.begin, second.start, second.end) == (13, 13, 23)


def test_two_arrays_are_two_sequences():
    assert texts(b'[{"n":1}] [{"n":2},{"n":3}]') == ['{"n":1}', '{"n":2}', '{"n":3}']


@pytest.mark.parametrize("data", [b"", b"  \n", b"\xef\xbb\xbf"])
def test_empty_input_has_no_documents(data):
    assert texts(data) == []


def test_positions_are_bytes_and_not_characters():
    data = '[{"n":"é日🌍"},{"n":2}]'.encode()
    assert walk(data)[1].start == data.index(b'{"n":2}')


def test_bytes_that_are_not_utf_8_keep_their_positions():
    data = b'[{"n":"\xff\xe9"},{"n":2}]'
    assert [document.start for document in walk(data)] == [1, data.index(b'{"n":2}')]


def test_reading_continues_after_an_invalid_line():
    assert texts(b'{"n":1}\n{"n":"x\n{"n":3}\n') == ['{"n":1}', '{"n":"x\n', '{"n":3}']


def test_reading_continues_after_an_invalid_element():
    assert texts(b'[{"n":1},{"n":tea},{"n":3}]') == ['{"n":1}', '{"n":tea},', '{"n":3}']


def test_a_truncated_document_extends_to_the_end():
    assert texts(b'[{"n":1},{"n":[1,2') == ['{"n":1}', '{"n":[1,2']


def test_input_that_is_not_json_is_one_document():
    assert texts(b"# Tea\n\n- black\n") == ["# Tea\n\n- black\n"]


def test_the_search_after_an_invalid_document_is_bounded(monkeypatch):
    monkeypatch.setattr(json_stream, "_MAX_TRIES", 3)
    data = b"{" + b"\n[1]" * 10 + b'\n{"n":1}'
    assert texts(data) == [data.decode()]


def test_unlimited_nesting_is_not_a_document():
    """C-23."""
    assert len(texts(b"[" * 100_000)) == 1


def test_a_number_of_any_length_has_an_end():
    """C-24."""
    assert find_value_end("9" * 5000 + ",", 0) == 5000


@pytest.mark.parametrize("text", ["", "]", "tea", '"x', "[1,", "{1:2}"])
def test_an_unterminated_value_is_refused(text):
    with pytest.raises(json.JSONDecodeError):
        find_value_end(text, 0)


def test_json_whitespace_and_a_byte_order_mark_are_skipped():
    assert skip_blanks("\ufeff \t\r\n x", 0) == 6
    assert skip_blanks("\u2028x", 0) == 0
    assert skip_blanks("x", 1) == 1


def test_bytes_are_counted_as_stored():
    assert [source_length(text) for text in ("tea", "é", "\udcff", "")] == [3, 2, 1, 0]


def test_blocks_of_any_size_give_the_same_documents(monkeypatch):
    data = (
        '[{"n":1},\n' + ",".join(json.dumps({"n": "é" * size}, ensure_ascii=False) for size in range(30)) + "]"
    ).encode()
    whole = walk(data)
    for size in (1, 2, 7, 64):
        monkeypatch.setattr(json_stream, "BLOCK_BYTES", size)
        assert walk(data) == whole


def test_a_document_that_is_too_large_is_invalid_and_the_next_is_read(monkeypatch):
    monkeypatch.setattr(json_stream, "BLOCK_BYTES", 16)
    monkeypatch.setattr(json_stream, "MAX_DOCUMENT", 64)
    data = b'{"n":"' + b"x" * 200 + b'"}\n{"n":2}'
    assert texts(data)[-1].endswith('{"n":2}')


def test_a_long_array_is_not_held_in_memory(monkeypatch):
    """Bounded memory: one document at a time."""
    monkeypatch.setattr(json_stream, "BLOCK_BYTES", 1 << 14)
    data = b"[" + b",".join(b'{"n":"%s"}' % (b"x" * 1000) for _ in range(5000)) + b"]"
    stream = BytesIO(data)
    tracemalloc.start()
    count = sum(1 for _ in walk_documents(stream, len(data), is_object))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 5000
    assert peak < 300_000


def test_bytes_added_during_reading_are_not_read():
    """The file grows while it is read."""
    data = b'{"n":1}\n{"n":2}\n'
    assert [document.text for document in walk_documents(BytesIO(data), 8, is_object)] == ['{"n":1}']


@given(st.binary(max_size=80))
def test_any_bytes_are_covered(data):
    walk(data)
    walk(b'[{"n":1},' + data + b',{"n":2}]')


@given(
    st.lists(st.dictionaries(st.just("n"), st.text() | st.integers() | st.lists(st.integers()), min_size=1)),
    st.sampled_from(["\n", " ", ""]),
)
def test_every_document_is_found(values, between):
    data = between.join(json.dumps(value, separators=(",", ":")) for value in values).encode()
    assert [json.loads(text) for text in texts(data)] == values
