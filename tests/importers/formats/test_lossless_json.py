"""Foreign JSON: exact values become plain JSON, inexact ones are kept as text."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.importers.formats import lossless_json
from scopes.importers.formats.lossless_json import (
    MAX_DEPTH,
    InexactNumber,
    RepeatedKeys,
    decode,
    decode_first,
    lossless_field,
)
from scopes.model import encoding

EXACT_FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: not number.is_integer() and "e" not in repr(number)
)
EXACT = st.recursive(
    st.none() | st.booleans() | st.integers() | EXACT_FLOATS | st.text(),
    lambda items: st.lists(items) | st.dictionaries(st.text(), items),
    max_leaves=20,
)
INEXACT = ["1.0", "-0", "-0.0", "1e5", "1E5", "1e+16", "1e400", "0.10", "NaN", "Infinity", "-Infinity", '{"a":1,"a":2}']


def nested(depth):
    return "[" * depth + "]" * depth


@given(EXACT)
def test_an_exact_value_is_stored_as_plain_json_under_its_own_name(value):
    text = json.dumps(value)
    assert lossless_field("input", decode(text)) == {"input": value}


@given(EXACT)
def test_whitespace_and_escapes_do_not_matter(value):
    spaced = json.dumps(value, ensure_ascii=False, indent=1)
    assert lossless_field("input", decode(spaced)) == lossless_field("input", decode(json.dumps(value)))


@pytest.mark.parametrize("token", INEXACT)
def test_a_value_changed_by_a_round_trip_is_kept_as_text(token):
    """C-25, C-26."""
    assert lossless_field("input", decode(token)) == {"input_text": token}
    assert lossless_field("input", decode(f'{{"k":[true,{token}]}}')) == {"input_text": f'{{"k":[true,{token}]}}'}


@pytest.mark.parametrize("token", INEXACT)
def test_whitespace_is_removed_from_the_text_of_an_inexact_value(token):
    assert lossless_field("x", decode(f' {{ "k" : {token} }} ')) == lossless_field("x", decode(f'{{"k":{token}}}'))


@given(EXACT)
def test_plain_values_can_be_stored(value):
    stored = encoding.dump({"input": encoding.Foreign(lossless_field("input", decode(json.dumps(value)))["input"])})
    assert encoding.load(stored) == {"input": value}


def test_an_inexact_number_still_counts_as_a_number():
    value = decode("[1.50, 1e3, NaN]")
    assert [type(number) for number in value] == [InexactNumber] * 3
    assert value[:2] == [1.5, 1000.0]
    assert math.isnan(value[2])


def test_the_last_of_repeated_keys_counts_and_all_are_kept():
    value = decode('{"a":1,"b":2,"a":3}')
    assert isinstance(value, RepeatedKeys)
    assert (value["a"], value.pairs) == (3, [("a", 1), ("b", 2), ("a", 3)])


def test_nested_repeated_keys_are_written_back_unchanged():
    text = '[{"é":{"a":"\\"","a":null}},2.0]'
    assert lossless_field("output", decode(text)) == {"output_text": text}


def test_lone_surrogates_are_plain_text():
    """B-13."""
    assert lossless_field("text", decode('"\\ud800x"')) == {"text": "\ud800x"}


@pytest.mark.parametrize("text", ["", "{", "[1,]", "{'a':1}", "nul", '"', "1 2", "9" * 5000])
def test_invalid_json_is_refused(text):
    """C-24."""
    with pytest.raises(ValueError):
        decode(text)


def test_the_depth_that_can_be_stored_is_the_depth_that_is_read():
    assert decode(nested(MAX_DEPTH)) is not None
    assert encoding.dump(encoding.Foreign(decode(nested(MAX_DEPTH))))
    with pytest.raises(RecursionError):
        decode(nested(MAX_DEPTH + 1))


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 500, 900, 100_000])
def test_deeper_documents_are_refused_at_any_stack_depth(depth):
    """C-23: Python's own limit depends on the caller's stack depth."""
    with pytest.raises(RecursionError):
        decode('{"a":' + nested(depth - 1) + "}")
    with pytest.raises(RecursionError):
        decode_first(nested(depth) + "{}", 0)


def test_many_adjacent_brackets_are_not_deep():
    assert len(decode("[" + ",".join(["[]"] * 1000) + "]")) == 1000
    assert decode(json.dumps("[" * 1000)) == "[" * 1000


def test_a_document_is_read_from_the_middle_of_a_text():
    assert decode_first('{"a":1}{"b":2.0} ', 7) == ({"b": 2.0}, 16)


@pytest.mark.parametrize("text", ["1.0", '{"a":1,"a":2}', '[[{"b":[1e5]}]]'])
def test_an_inexact_value_is_found_while_any_exists_and_none_is_listed_after_its_end(text):
    """A value is searched only if any value of the process is inexact."""
    before = len(lossless_json._alive)
    value, other = decode(text), decode(text)
    del other
    assert len(lossless_json._alive) > before
    assert lossless_field("output", value) == {"output_text": text}
    del value
    assert len(lossless_json._alive) == before
