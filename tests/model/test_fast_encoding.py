"""The fast encoder of canonical JSON, msgspec: whatever it writes, the ordinary encoder writes the same."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scopes import fast_json
from scopes.errors import Invalid
from scopes.model import encoding
from scopes.model.encoding import MAX_DEPTH, Foreign, ForeignValues, dump

pytest.importorskip("msgspec")

TEXT = st.text(st.characters(exclude_categories=()))
NUMBERS = (
    st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.floats(1e-6, 1e-3)
    | st.floats(1e15, 1e17)
    | st.integers(-(10**18), 10**18).map(float)
)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXT
OTHER = st.just((1, 2)) | st.just(b"bytes") | st.just(1j)


def containers(inner):
    keys = TEXT | st.text("ab\uffff\U0001f600") | st.integers(0, 1)
    return st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4) | st.builds(Foreign, inner)


VALUES = st.recursive(SCALARS | OTHER, containers, max_leaves=12)


@pytest.fixture(autouse=True)
def restored_library():
    before = fast_json.library
    yield
    fast_json.library = before


def result_of(value, *, fast):
    if fast:
        fast_json.enable()
    else:
        fast_json.library = None
    try:
        return dump(value)
    except Invalid as error:
        return str(error)


def nested(levels):
    value = 0
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


@given(VALUES)
@example({"b": 1, "a": Foreign({"d": 1, "c": {"z": [], "y": {}}}), "\uffff": 1, "\U0001f600": 2})
@example(
    [0.0, -0.0, 1.0, 1e-4, 9.999e-5, 1e16, 9999999999999998.0, 5e-324, 1e22, 0.1 + 0.2, 2**64, 2**64 - 1, -(2**63) - 1]
)
@example("".join(map(chr, range(0x100))) + "\u2028\u2029\ufeff")
@example({"\ud83d\ude00": 1, "\U0001f600": 2})
@example(Foreign(Foreign({"b": 1, "a": 2})))
@example([True, False, None, {1: 1}])
def test_both_encoders_give_the_same_bytes_or_the_same_error(value):
    assert result_of(value, fast=True) == result_of(value, fast=False)


@pytest.mark.parametrize("levels", [MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1])
def test_both_encoders_have_the_same_limit_of_nesting(levels):
    for value in (
        nested(levels),
        Foreign(nested(levels)),
        [Foreign(nested(levels))],
        [Foreign([Foreign(nested(levels))])],
    ):
        assert result_of(value, fast=True) == result_of(value, fast=False)


def test_a_subclass_of_a_simple_type_is_left_to_the_ordinary_encoder():
    class Number(float):
        pass

    class Text(str):
        __slots__ = ()

    class Members(dict):
        pass

    for value in (Number(1.5), [Text("a")], Members(b=1, a=2), {Text("b"): 1, "a": 2}):
        assert encoding._is_simple(value, MAX_DEPTH) is False
        assert result_of(value, fast=True) == result_of(value, fast=False)


def test_an_ordinary_document_is_written_by_the_fast_encoder(monkeypatch):
    fast_json.enable()
    monkeypatch.setattr(encoding, "_write", None)
    assert (
        dump({"b": [1, 1.5, None, True], "a": Foreign({"d": "e", "c": {}})})
        == b'{"a":{"d":"e","c":{}},"b":[1,1.5,null,true]}\n'
    )


def test_the_library_is_loaded_only_when_it_is_switched_on():
    code = (
        "import sys, scopes.cli.main, scopes.cli.table, scopes.importers.import_sources, scopes.conversation.append\n"
        "print(sorted({'msgspec', 'isal'} & sys.modules.keys()))\n"
        "from scopes import fast_json; fast_json.enable(); print('msgspec' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\nTrue\n"


def test_without_the_library_documents_are_written_as_before(monkeypatch):
    monkeypatch.setitem(sys.modules, "msgspec", None)
    fast_json.enable()
    assert fast_json.library is None
    assert dump({"b": 1, "a": 2}) == b'{"a":2,"b":1}\n'


@given(VALUES, st.booleans())
def test_a_foreign_value_that_is_encoded_once_has_the_same_bytes_in_every_document(value, fast):
    foreign = ForeignValues()
    for document in (lambda make: {"a": make(value)}, lambda make: [1, make(value), make(value)]):
        assert result_of(document(foreign), fast=fast) == result_of(document(Foreign), fast=fast)
