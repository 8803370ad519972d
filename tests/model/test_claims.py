"""Claims of messages: equal claims are equal blobs, and no message can write the claim of another agent."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given

from scopes.errors import Invalid
from scopes.ids import MessageId
from scopes.model.canonical_json import leaf, split_leaf
from scopes.model.message import (
    Author,
    FileTouch,
    Message,
    Part,
    claims_of,
    content_hash,
    decode,
    encode,
    participant_claim,
    text_parts,
)
from tests.support.documents import json_values, messages, texts

ID = MessageId("a" * 26)
PAYLOADS = {
    "analysis": {"subject": "auth", "aspect": "security", "finding": "weak"},
    "decision": {"topic": "storage/format", "decision": "git"},
    "priority": {"task": "fix", "urgency": "high"},
    "method": {"goal": "speed", "approach": "cache"},
    "proposal": {"entity_type": "service", "entity_id": "api", "changes": [{"field_path": "port", "operation": "update", "after": 80}]},
    "collaboration-request": {"type": "handoff", "context": "x", "urgency": "low"},
}  # fmt: skip


def nothing_before(path):
    return None


def claims(message, previous=nothing_before, base="/work"):
    return {path: json.loads(blob) for path, blob in claims_of(message, previous, base)}


def message(author="carol", author_kind="tool", **fields):
    return Message(id=fields.pop("id", ID), author=Author(author, author_kind), **{"parts": (), **fields})


def typed(kind, author="carol", **changes):
    return message(author, kind=kind, payload=PAYLOADS[kind] | changes)


# Who takes part


@pytest.mark.parametrize(
    ("kind", "counts"),
    [("human", True), ("agent", True), ("tool", False), ("system", False), ("injected", False), ("new", False)],
)
def test_only_humans_and_agents_become_participants(kind, counts):
    expected = {"participants/carol=": {"kind": kind}} if counts else {}
    assert claims(message(author_kind=kind)) == expected
    assert participant_claim("a/b", "agent") == ("participants/a%2Fb=", b'{"kind":"agent"}\n')


# Typed kinds


@pytest.mark.parametrize(
    ("kind", "path", "claim"),
    [
        ("analysis", ("analyses", "auth", "security", "carol"), {"finding": "weak"}),
        ("decision", ("decisions", "storage/format"), {"decision": "git"}),
        ("priority", ("priorities", "fix", "carol"), {"urgency": "high"}),
        ("method", ("methods", "speed", "carol"), {"approach": "cache"}),
        ("proposal", ("proposals", "service", "api", "port", "carol"), {"operation": "update", "after": 80}),
    ],
)
def test_a_typed_message_writes_a_claim_under_its_key(kind, path, claim):
    assert claims(typed(kind)) == {leaf(*path): claim}


def test_a_collaboration_request_writes_no_claim():
    assert claims(typed("collaboration-request")) == {}


def test_decisions_have_one_claim_and_analyses_one_per_agent():
    """Two decisions on one topic conflict; two analyses of one aspect do not."""
    assert claims(typed("decision")).keys() == claims(typed("decision", "dave")).keys()
    assert not claims(typed("analysis")).keys() & claims(typed("analysis", "dave")).keys()


@pytest.mark.parametrize("kind", PAYLOADS)
def test_equal_claims_of_two_agents_are_equal_blobs(kind):
    """Storage, state: author and time are in the history, not in the claim."""
    one, two = (list(claims_of(typed(kind, author), nothing_before)) for author in ("carol", "dave"))
    assert [blob for _, blob in one] == [blob for _, blob in two]
    other = Message(
        id=MessageId("b" * 26),
        author=Author("carol", "tool"),
        parts=text_parts("x"),
        kind=kind,
        payload=PAYLOADS[kind],
        time="2026",
    )
    assert list(claims_of(other, nothing_before)) == one


def test_a_proposal_writes_a_claim_for_every_changed_field():
    changes = [{"field_path": name, "operation": "create", "after": name} for name in ("a", "b/c", "a.b")]
    found = claims(typed("proposal", changes=changes))
    assert [split_leaf(path)[3] for path in found] == ["a", "b/c", "a.b"]


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"topic": 5, "decision": "x"},
        {"topic": "x"},
        {"topic": None, "decision": 1},
        {"subject": []},
        {"changes": 5},
    ],
)
@pytest.mark.parametrize("kind", PAYLOADS)
def test_an_invalid_payload_writes_no_claim(kind, payload):
    """The store may have been written by another program."""
    assert claims(message(kind=kind, payload=payload)) == {}


def test_malformed_changes_of_a_proposal_are_skipped():
    changes = [
        5,
        {"field_path": 5, "operation": "create"},
        {"field_path": "a"},
        {"field_path": "b", "operation": "delete"},
    ]
    assert claims(typed("proposal", changes=changes)) == {
        "proposals/service/api/b/carol=": {"operation": "delete", "after": None}
    }


def test_a_key_too_long_for_git_is_refused():
    with pytest.raises(Invalid, match="too long"):
        claims(typed("decision", topic="x" * 5000))


# Files


def touched(op, path="src/a.py", content_hash=None, source=None, **fields):
    return claims(message(files=(FileTouch(path, op, content_hash, source),), **fields))


@pytest.mark.parametrize("op", ["read", "mention", "new"])
def test_reads_and_mentions_of_files_write_no_claim(op):
    assert touched(op) == {}


def test_a_file_write_claims_the_hash_of_its_content():
    assert touched("edit", content_hash="sha256:00") == {
        "files/src/a%2Epy=".replace("%2E", "."): {"operation": "edit", "content": "sha256:00"}
    }
    assert touched("delete") == {"files/src/a.py=": {"operation": "delete"}}


def test_a_write_of_unknown_content_differs_from_any_other():
    assert touched("edit") == {"files/src/a.py=": {"operation": "edit", "unknown": ID}}
    assert touched("edit") != touched("edit", id=MessageId("b" * 26))


def test_a_rename_writes_claims_for_both_names():
    found = touched("rename", "b", "sha256:00", "a")
    assert found == {"files/b=": {"operation": "rename", "content": "sha256:00"}, "files/a=": {"operation": "delete"}}


def test_paths_are_relative_to_the_first_working_directory():
    assert touched("delete", "/work/src/../b").keys() == {"files/b="}
    assert touched("delete", "/etc/passwd").keys() == {"files/%2Fetc%2Fpasswd="}


def patched(patch="-a\n+b\n", previous=nothing_before, **fields):
    part = Part("file_ref", {"path": "a", "op": "edit", "patch": patch, **fields})
    return claims(message(parts=(part,)), previous)["files/a="]


def test_a_patch_claims_a_hash_of_its_base_and_itself():
    """The same patch on another file is another claim."""
    before = {"files/a=": b"before"}
    expected = "sha256:" + hashlib.sha256(b"before\0-a\n+b\n").hexdigest()
    assert patched(previous=before.get) == {"operation": "edit", "derived": expected}
    assert patched() != patched(previous=before.get)
    assert patched() != patched("other")
    assert patched("\ud800")["derived"]


def test_a_content_hash_overrides_a_patch():
    assert patched(content_hash="sha256:00") == {"operation": "edit", "content": "sha256:00"}


@pytest.mark.parametrize(
    "fields", [{"op": []}, {"op": {}}, {"op": 5}, {"op": None}, {"path": 5}, {"path": None}, {"op": "read"}]
)
def test_a_part_that_is_not_a_file_reference_writes_no_claim(fields):
    """`append --jsonl` takes parts as they are."""
    part = Part("file_ref", {"path": "a", "op": "edit", **fields})
    assert claims(message(parts=(part, Part("text", {"path": "a", "op": "edit"})))) == {}


@pytest.mark.parametrize(
    "fields", [{"content_hash": 5}, {"from": 5}, {"from": []}, {"patch": 5}, {"content_hash": None}]
)
def test_invalid_optional_fields_of_a_part_are_ignored(fields):
    part = Part("file_ref", {"path": "a", "op": "rename", **fields})
    assert claims(message(parts=(part,))) == {"files/a=": {"operation": "rename", "unknown": ID}}


# Taking back


def test_retractions_and_amendments_claim_the_id_of_their_message():
    other = MessageId("b" * 26)
    assert claims(message(retracts=other)) == {f"messages/{other}=": {"retracted": True}}
    amendment = message(amends=other, parts=text_parts("better"))
    assert claims(amendment) == {f"messages/{other}=": {"amended": content_hash(amendment)}}


def test_equal_amendments_are_equal_claims():
    one, two = (
        message(author, id=MessageId(letter * 26), parts=text_parts("better"), time=letter)
        for author, letter in (("carol", "a"), ("dave", "b"))
    )
    assert content_hash(one) == content_hash(two)
    assert content_hash(one) != content_hash(message(parts=text_parts("worse")))
    assert content_hash(one) != content_hash(message(parts=(Part("reasoning", {"text": "better"}),)))


# Laws


@given(messages())
def test_a_decoded_message_writes_the_same_claims(message):
    """Rewritten messages were decoded from stored ones."""
    again = decode(encode(message))
    assert list(claims_of(again, nothing_before)) == list(claims_of(message, nothing_before))


@given(messages())
def test_every_claim_is_one_line_under_a_decodable_key(message):
    for path, blob in claims_of(message, nothing_before):
        split_leaf(path)
        assert blob.endswith(b"\n")
        assert blob.count(b"\n") == 1


@given(texts, texts, json_values)
def test_different_names_never_share_a_key(topic, other, value):
    """`/`, `%` and `=` in a topic are escaped."""
    one, two = (
        set(claims(message(kind="decision", payload={"topic": name, "decision": value}))) for name in (topic, other)
    )
    assert (one == two) == (topic == other)
