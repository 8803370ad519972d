"""Encoding and decoding the root of a conversation and the metadata of its branches."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import Corrupt, Invalid
from scopes.model import canonical_json
from scopes.model.conversation import (
    PURPOSES,
    BranchEntry,
    Root,
    decode_branch_entry,
    decode_root,
    encode_branch_entry,
    encode_root,
    parse_purpose,
)
from tests.support.documents import json_values, optional, texts

roots = st.builds(Root, uuid=texts, created=texts, format=optional, native_id=optional, cwd=optional)
forks = st.none() | st.text("0123456789abcdef", min_size=40, max_size=40)
entries = st.builds(
    BranchEntry, purpose=optional, agent=optional, parent=optional, fork=forks, created=texts, status=texts,
    extra=st.dictionaries(texts.map("x-".__add__), json_values, max_size=3),
)  # fmt: skip
fields = st.sampled_from(["v", "purpose", "agent", "parent", "fork", "created", "status", "new"])


@given(roots)
def test_a_decoded_root_equals_the_encoded_one(root):
    data = encode_root(root)
    assert decode_root(data) == root
    assert encode_root(decode_root(data)) == data


def test_the_document_of_a_root_has_this_form():
    root = Root(uuid="u", created="2026-01-01T00:00:00Z", format="claude-code", cwd="/x")
    assert (
        encode_root(root)
        == b'{"conversation":{"created":"2026-01-01T00:00:00Z","cwd":"/x","format":"claude-code","uuid":"u"},"kind":"root","v":1}\n'
    )


@pytest.mark.parametrize(
    "document",
    [None, [], {}, {"kind": "root"}, {"kind": "plain", "conversation": {"uuid": "u", "created": "c"}}, {"kind": "root", "conversation": {}},
     {"kind": "root", "conversation": {"uuid": 5, "created": "c"}}, {"kind": "root", "conversation": {"uuid": "u"}}, {"kind": "root", "conversation": []}],
)  # fmt: skip
def test_a_document_that_is_not_a_root_is_corrupt(document):
    with pytest.raises(Corrupt, match="the root of a conversation is damaged"):
        decode_root(canonical_json.dump(document))


def test_unknown_fields_of_a_root_are_ignored():
    newer = {"v": 2, "kind": "root", "new": 1, "conversation": {"uuid": "u", "created": "c", "format": 5, "new": []}}
    assert decode_root(canonical_json.dump(newer)) == Root(uuid="u", created="c")


@given(entries)
def test_decoded_branch_metadata_equals_the_encoded(entry):
    data = encode_branch_entry(entry)
    assert decode_branch_entry(data) == entry
    assert encode_branch_entry(decode_branch_entry(data)) == data


@given(st.dictionaries(fields, json_values, max_size=5))
def test_unknown_branch_metadata_is_written_back(document):
    """Unknown fields, and known ones of another shape."""
    document = canonical_json.load(canonical_json.dump(document))
    again = canonical_json.load(encode_branch_entry(decode_branch_entry(canonical_json.dump(document))))
    assert {key: again[key] for key in document} == document
    assert again.keys() - document.keys() <= {"v", "created", "status"}


@pytest.mark.parametrize("fork", ["\uff10", "", "a" * 39, "A" * 40, "\ud800", "../x"])
def test_a_fork_that_is_no_commit_is_none_and_is_written_back(fork):
    """The store may come from another person: the object database crashes on what is not an object id."""
    data = canonical_json.dump({"v": 1, "created": "c", "status": "active", "fork": fork})
    assert decode_branch_entry(data).fork is None
    assert encode_branch_entry(decode_branch_entry(data)) == data


@pytest.mark.parametrize("data", [b"", b"[]", b"5", b"null", b"{", b"\xff"])
def test_a_document_that_is_not_branch_metadata_is_corrupt(data):
    with pytest.raises(Corrupt):
        decode_branch_entry(data)


def test_unknown_fields_of_a_branch_are_not_written():
    assert json.loads(encode_branch_entry(BranchEntry(created="c"))) == {"created": "c", "status": "active", "v": 1}


@pytest.mark.parametrize("purpose", PURPOSES)
def test_a_purpose_is_accepted_in_any_case_with_hyphen_or_underscore(purpose):
    """S4-3."""
    for spelling in (purpose, purpose.upper(), purpose.replace("-", "_"), f"  {purpose.title()} "):
        assert parse_purpose(spelling) == purpose


@pytest.mark.parametrize("text", ["", "analysis ok", "alternative", "\0", "analysis\u200b", "x" * 10_000])
def test_an_unknown_purpose_is_refused_with_the_list(text):
    """S4-3: exactly these five."""
    with pytest.raises(Invalid, match="is not a valid branch purpose") as caught:
        parse_purpose(text)
    assert all(purpose in caught.value.hint for purpose in PURPOSES)
    assert len(PURPOSES) == 5
