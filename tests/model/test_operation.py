"""Encoding and decoding operation records."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import Corrupt
from scopes.model import canonical_json
from scopes.model.operation import Operation, RefChange, decode_operation, encode_operation
from tests.support.documents import json_values, optional, texts

ref_names = texts.filter(lambda text: text and not {"/", "\0"} & set(text) and text not in {".", ".."})
changes = st.builds(RefChange, ref_names.map("refs/heads/{}".format), optional, optional)
operations = st.builds(
    Operation, id=texts, kind=texts, summary=texts, command=texts, actor=texts, time=texts,
    changes=st.lists(changes, max_size=4).map(tuple), undoes=optional, details=st.dictionaries(texts, json_values, max_size=2),
)  # fmt: skip
SOUND = {
    "v": 1,
    "id": "i",
    "kind": "k",
    "summary": "s",
    "command": "c",
    "actor": "a",
    "time": "t",
    "refs": [{"ref": "refs/r", "old": None, "new": "n"}],
}


@given(operations)
def test_a_decoded_operation_equals_the_encoded_one(operation):
    data = encode_operation(operation)
    assert decode_operation(data) == operation
    assert encode_operation(decode_operation(data)) == data


def test_the_document_of_an_operation_has_this_form():
    operation = Operation(
        id="i", kind="branch", summary="s", command="scopes branch", actor="carol", time="t",
        changes=(RefChange("refs/heads/x/y", None, "1" * 40), RefChange("refs/scopes/active/x", "ref: a", "ref: b")), undoes="j",
    )  # fmt: skip
    assert json.loads(encode_operation(operation)) == {
        "v": 1, "id": "i", "kind": "branch", "summary": "s", "command": "scopes branch", "actor": "carol", "time": "t", "undoes": "j",
        "refs": [{"ref": "refs/heads/x/y", "old": None, "new": "1" * 40}, {"ref": "refs/scopes/active/x", "old": "ref: a", "new": "ref: b"}],
    }  # fmt: skip


def test_empty_fields_of_an_operation_are_not_written():
    assert not json.loads(canonical_json.dump(SOUND)).keys() & {"undoes", "details"}
    assert encode_operation(decode_operation(canonical_json.dump(SOUND))) == canonical_json.dump(SOUND)


@pytest.mark.parametrize("missing", sorted(SOUND.keys() - {"v"}))
def test_a_record_with_a_missing_field_is_corrupt(missing):
    """D-42."""
    with pytest.raises(Corrupt, match="a record of the operation log is damaged"):
        decode_operation(canonical_json.dump({key: value for key, value in SOUND.items() if key != missing}))


@pytest.mark.parametrize(
    ("field", "value"),
    [("refs", None), ("refs", 5), ("refs", {}), ("refs", [5]), ("refs", [{}]), ("refs", [{"ref": "refs/r", "old": None}]), ("refs", [{"ref": 5, "old": None, "new": None}]),
     ("refs", [{"ref": "refs/r", "old": 5, "new": None}]), ("refs", [{"ref": "refs/r", "old": None, "new": []}]), ("refs", "text"),
     ("id", 5), ("kind", None), ("summary", []), ("time", 5), ("actor", {}), ("command", 5), ("undoes", 5), ("details", []), ("details", "x")],
)  # fmt: skip
def test_a_record_with_a_field_of_another_type_is_corrupt(field, value):
    """Writers act on the record, so nothing is guessed."""
    with pytest.raises(Corrupt):
        decode_operation(canonical_json.dump(SOUND | {field: value}))


@pytest.mark.parametrize("data", [b"", b"null", b"[]", b"5", b'"x"', b"{", b"\xff", b"[" * 100_000])
def test_bytes_that_are_not_a_record_are_corrupt(data):
    with pytest.raises(Corrupt):
        decode_operation(data)


def test_unknown_fields_of_a_record_are_ignored():
    assert decode_operation(canonical_json.dump(SOUND | {"v": 2, "new": 5})).kind == "k"


@pytest.mark.parametrize(
    "ref", ["", "refs", "refs/", "config", "refs/heads/../../../x", "refs//x", "refs/./x", "/refs/x", "refs/x\0"]
)
def test_a_record_with_a_ref_that_is_no_file_below_refs_is_corrupt(ref):
    """P14: `repair` and recovery write the files of recorded refs."""
    with pytest.raises(Corrupt):
        decode_operation(canonical_json.dump({**SOUND, "refs": [{"ref": ref, "old": None, "new": "1" * 40}]}))
