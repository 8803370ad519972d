"""Rows as lines of JSON: the same bytes for the same rows, and nothing lost of what JSON cannot write."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.importers.formats.row_lines import (
    InvalidText,
    begins_with_row,
    decode_text,
    encode_file,
    encode_row,
    read_row,
)
from tests.support.examples import examples

CELLS = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary()
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), CELLS))
@settings(max_examples=examples(100), deadline=None)
def test_a_row_is_read_again_as_it_was_written(columns):
    line = encode_row("t", columns)
    assert (line.count(b"\n"), line.endswith(b"\n")) == (1, True)
    assert read_row(json.loads(line)) == ("t", columns)


def test_the_order_of_columns_does_not_change_the_line():
    assert encode_row("t", {"b": 1, "a": None}) == encode_row("t", {"a": None, "b": 1})
    assert encode_row("t", {"b": 1, "a": "é"}) == '{"table":"t","row":{"a":"é","b":1}}\n'.encode()


@pytest.mark.parametrize(("data", "cell"), [(b"\xff", {"text": "/w=="}), (b"ok", "ok")])
def test_text_that_is_not_utf8_is_written_as_base64_and_read_as_bytes(data, cell):
    line = json.loads(encode_row("t", {"a": decode_text(data)}))
    assert line["row"]["a"] == cell
    assert read_row(line).columns["a"] == (data if isinstance(decode_text(data), InvalidText) else "ok")


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_numbers_that_json_does_not_have_are_written_as_text(number):
    assert json.loads(encode_row("t", {"a": number}))["row"]["a"] == {"real": repr(number)}


@pytest.mark.parametrize(
    "value", [None, 7, [], {}, {"table": "t"}, {"table": 1, "row": {}}, {"file": 1, "content": ""}]
)
def test_another_document_is_no_row(value):
    assert read_row(value) is None


@pytest.mark.parametrize("cell", [{"bytes": "not base64!"}, {"real": "inf"}, {"x": 1}, [1]])
def test_a_cell_that_no_database_has_reads_as_null(cell):
    assert read_row({"table": "t", "row": {"a": cell}}).columns == {"a": None}


def test_a_file_is_a_line_with_its_name_and_its_exact_content():
    line = json.loads(encode_file("session/p/s.json", b'{\n "a": 1}\r\n'))
    assert line == {"file": "session/p/s.json", "content": '{\n "a": 1}\r\n'}
    assert read_row(line) == ("session/p/s.json", {"content": '{\n "a": 1}\r\n'})


@pytest.mark.parametrize(
    ("head", "known"),
    [(b'{"table":"a","row":{', True), (b'{"table":"b","row":{', False), (b'{"table":"a"}', False), (b"", False)],
)
def test_a_source_of_rows_is_recognized_by_its_first_table(head, known):
    assert begins_with_row(head, ["a", "c"]) is known
