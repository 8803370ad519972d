"""What the blocks and tool calls of ACP become: parts of our messages, in which nothing is lost and nothing is too large."""

from __future__ import annotations

import base64
import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.model import canonical_json
from scopes.server.acp import content
from scopes.server.acp.content import (
    call_files,
    call_name,
    call_parts,
    merge_call,
    part_of,
    parts_of,
    usage_of,
    without_secrets,
)
from tests.support.examples import sample
from tests.support.planted import FORMS, KINDS, leaked_parts

KEY = "sk-ant-api03-" + "a1B2" * 24 + "AA"
WILD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("block", "part_type", "fields"),
    [
        ({"type": "text", "text": "hello"}, "text", {"text": "hello"}),
        ({"type": "image", "data": "aGk=", "mimeType": "image/png"}, "image", {"media_type": "image/png", "data": "aGk="}),
        ({"type": "image", "data": "aGk="}, "image", {"media_type": "image/*", "data": "aGk="}),
        ({"type": "audio", "data": "aGk=", "mimeType": 7}, "file", {"media_type": "audio/*", "data": "aGk="}),
        ({"type": "resource_link", "uri": "file:///a.py"}, "file_ref", {"path": "/a.py", "op": "mention"}),
        ({"type": "resource_link", "uri": "https://x.org/a"}, "file_ref", {"path": "https://x.org/a", "op": "mention"}),
        ({"type": "resource", "resource": {"uri": "file:///a", "text": "b"}}, "file", {"path": "/a", "text": "b"}),
        ({"type": "resource", "resource": {"uri": "file:///a", "blob": "aGk="}}, "file", {"path": "/a", "data": "aGk="}),
    ],
)  # fmt: skip
def test_a_known_block_is_a_part_of_its_kind(block, part_type, fields):
    part = part_of(block)
    assert (part.type, dict(part.fields)) == (part_type, fields)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "hologram", "depth": 3}, {"type": "text"}, {"type": "text", "text": 7}, {"type": "image", "data": None},
        {"type": "resource", "resource": []}, {"type": "resource_link", "uri": 5}, {}, [], None, 7, "text",
    ],
)  # fmt: skip
def test_an_unknown_block_is_kept_as_it_is(block):
    part = part_of(block)
    assert (part.type, part.fields["json"]) == ("raw", block)


@given(WILD)
def test_whatever_an_editor_sends_can_be_stored(block):
    """A block that ours cannot hold is kept as a text."""
    for part in [part_of(block), *parts_of(block), *call_parts({"rawInput": block, "title": block, "content": block})]:
        canonical_json.dump(dict(part.fields))


def test_marks_of_a_block_are_kept_with_its_text():
    part = part_of({"type": "text", "text": "x", "_meta": {"a": 1}, "annotations": {"audience": ["user"]}, "other": 5})
    assert dict(part.fields) == {"text": "x", "_meta": {"a": 1}, "annotations": {"audience": ["user"]}}


def test_of_a_large_image_only_the_size_and_the_hash_are_kept(monkeypatch):
    monkeypatch.setattr(content, "MAX_DATA_CHARACTERS", 8)
    data = base64.b64encode(b"0123456789").decode()
    part = part_of({"type": "image", "data": data, "mimeType": "image/png"})
    digest = sha256(data.encode()).hexdigest()
    assert (part.fields["base64_bytes"], part.fields["content_hash"]) == (len(data), f"sha256:{digest}")
    assert "data" not in part.fields


def test_a_large_text_is_cut_and_says_how_long_it_was(monkeypatch):
    monkeypatch.setattr(content, "MAX_TEXT_CHARACTERS", 10)
    assert (
        part_of({"type": "text", "text": "0123456789ab"}).text
        == "0123456789... [12 characters, not recorded from here on]"
    )
    assert part_of({"type": "text", "text": "0123456789"}).text == "0123456789"


def test_a_number_that_json_cannot_hold_is_kept_as_a_text():
    """`1.0` would come back as another number, and NaN not at all."""
    (call,) = call_parts({"toolCallId": "c", "kind": "read", "rawInput": {"n": float("nan")}})
    assert "input" not in call.fields
    assert call.fields["input_text"] == '{"n": NaN}'


@pytest.mark.parametrize("block", [
    {"type": "resource_link", "uri": f"https://x.org/{KEY}"},
    {"type": "resource", "resource": {"uri": f"https://x.org/{KEY}", "text": KEY}},
    {"type": "resource", "resource": {"uri": f"https://x.org/{KEY}", "blob": "aGk="}},
    {"type": "text", "text": "x", "_meta": {"key": KEY}, "annotations": {KEY: 1}}, {"type": "hologram", "of": [KEY]},
])  # fmt: skip
def test_a_secret_is_taken_out_of_every_kind_of_block(block):
    stored = json.dumps(dict(part_of(block, without_secrets).fields))
    assert (KEY in stored, "[redacted" in stored) == (False, True)


@pytest.mark.parametrize("given", [
    {"password": "hunter2hunter2"}, {"env": {"DB_PASSWORD": "hunter2hunter2"}}, {"all": [{"secret": "hunter2hunter2"}]},
    {"command": "DB_PASSWORD=hunter2hunter2 ./run"}, {"text": '{"password": "hunter2hunter2"}'},
])  # fmt: skip
def test_a_password_is_taken_out_of_the_input_of_a_call(given):
    """Its name says what it is: alone it looks like any other word."""
    parts = call_parts({"toolCallId": "c", "kind": "execute", "rawInput": given}, without_secrets)
    stored = json.dumps([dict(part.fields) for part in parts])
    assert ("hunter2" in stored, "[redacted" in stored) == (False, True)


@pytest.mark.parametrize("place", ["text", "title", "input", "output", "name"])
def test_a_secret_is_taken_out_wherever_it_is(place):
    call = {
        "toolCallId": "c", "status": "completed", "title": KEY if place == "title" else "t",
        "rawInput": {KEY: 1} if place == "name" else {"a": [KEY if place == "input" else "b"]},
        "content": [{"type": "content", "content": {"type": "text", "text": KEY if place == "output" else "o"}}],
    }  # fmt: skip
    parts = call_parts(call, without_secrets)
    parts.append(part_of({"type": "text", "text": KEY if place == "text" else "t"}, without_secrets))
    stored = json.dumps([dict(part.fields) for part in parts])
    assert KEY not in stored
    assert "[redacted" in stored


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ({"name": "shell", "kind": "execute", "title": "make"}, "shell"),
        ({"kind": "execute", "title": "make"}, "execute"),
        ({"kind": "other", "title": "Ask the oracle"}, "Ask the oracle"),
        ({"name": " ", "kind": "", "title": "x"}, "x"),
        ({"name": 7, "kind": None}, "tool"),
        ({}, "tool"),
    ],
)
def test_a_call_is_named_by_the_agent_else_by_its_kind_else_by_its_title(call, name):
    assert call_name(call) == name


def test_an_update_changes_what_it_names_and_nothing_else():
    call = {"toolCallId": "c", "title": "Edit", "kind": "edit"}
    merge_call(call, {"sessionUpdate": "tool_call_update", "title": None, "status": "completed", "rawOutput": 1})
    assert call == {"toolCallId": "c", "title": "Edit", "kind": "edit", "status": "completed", "rawOutput": 1}


@pytest.mark.parametrize(("status", "is_error"), [("completed", False), ("failed", True)])
def test_a_call_that_has_ended_has_a_result(status, is_error):
    texts = [{"type": "content", "content": {"type": "text", "text": text}} for text in ("one", "two")]
    _, result = call_parts({"toolCallId": "c", "status": status, "content": texts, "rawOutput": "raw"})
    assert dict(result.fields) == {"call_id": "c", "is_error": is_error, "output": "one\ntwo"}


@pytest.mark.parametrize("status", ["pending", "in_progress", None, 7])
def test_a_call_that_goes_on_has_no_result(status):
    assert [part.type for part in call_parts({"toolCallId": "c", "status": status})] == ["tool_call"]


def test_the_output_is_that_of_the_tool_if_it_shows_no_text():
    _, result = call_parts({"toolCallId": "c", "status": "completed", "rawOutput": {"exit": 0}})
    assert result.fields["output"] == {"exit": 0}


def test_files_of_a_call_are_those_of_its_diffs_and_then_its_locations():
    found = call_files({
        "kind": "edit",
        "content": [
            {"type": "diff", "path": "/new.py", "oldText": None, "newText": "a"},
            {"type": "diff", "path": "/old.py", "oldText": "a", "newText": "b"}, {"type": "diff", "path": 7}, None,
        ],
        "locations": [{"path": "/old.py"}, {"path": "/third.py"}, {"path": None}, 7],
    })  # fmt: skip
    assert [(each.path, each.op) for each in found] == [
        ("/new.py", "create"),
        ("/old.py", "edit"),
        ("/third.py", "edit"),
    ]


@pytest.mark.parametrize(("kind", "op"), [("read", "read"), ("delete", "delete"), ("move", "edit"), ("execute", None)])
def test_a_location_counts_by_the_kind_of_the_call(kind, op):
    found = call_files({"kind": kind, "locations": [{"path": "/a"}]})
    assert [each.op for each in found] == ([] if op is None else [op])


@pytest.mark.parametrize(("kind", "deleted"), [("delete", ["/a", "/b"]), ("read", None), ("move", None)])
def test_the_result_of_a_call_that_deletes_names_the_files(kind, deleted):
    call = {"toolCallId": "c", "kind": kind, "status": "completed", "locations": [{"path": "/a"}, {"path": "/b"}]}
    _, result = call_parts(call)
    assert result.fields.get("structured", {}).get("acp_deleted") == deleted


def test_counts_of_tokens_get_our_names_and_the_original_is_kept():
    given = {"inputTokens": 5, "outputTokens": 3, "cachedReadTokens": 2, "thoughtTokens": -1, "cost": 0.5}
    found = usage_of(given)
    assert {name: found[name] for name in ("input_uncached", "output", "cache_read")} == {
        "input_uncached": 5, "output": 3, "cache_read": 2
    }  # fmt: skip
    assert "reasoning" not in found


@pytest.mark.parametrize("usage", [None, 7, [], {}, {"inputTokens": "5"}, {"inputTokens": True}, {"inputTokens": -5}])
def test_what_has_no_counts_is_no_usage(usage):
    assert usage_of(usage) is None


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_secret_that_doors_know_is_recorded(form):
    """A prompt, and an input of a tool with the secret in a member."""
    for kind, secret in sample(KINDS, 6):
        hidden = FORMS[form](secret)
        parts = [part_of({"type": "text", "text": f"use {hidden} now"}, without_secrets)]
        parts += call_parts({"toolCallId": "c", "kind": "execute", "rawInput": {"all": [hidden]}}, without_secrets)
        for text in (parts[0].fields["text"], parts[1].fields["input"]["all"][0]):
            assert leaked_parts(kind, secret, text) == [], kind
            assert "[redacted" in text
