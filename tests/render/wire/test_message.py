from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.clock import utc
from scopes.model.message import Author, Message, Part
from scopes.render.wire.message import header_object, message_object
from tests.render.results import CALL, CALL_BODY, DECIDED, DECIDED_BODY, PROMPT, SECURE, body, message_id

BARE = Message(id=message_id("prompt"), author=Author("carol", "human"), parts=())


def test_a_message_has_the_fields_that_scripts_rely_on():
    """One line of `log --json`: id, oid, parents, author, kind, time, text, parts."""
    assert message_object(PROMPT, body(PROMPT)) == {
        "kind": "prompt",
        "message_kind": "prompt",
        "id": PROMPT.id,
        "oid": PROMPT.oid,
        "parents": list(PROMPT.parents),
        "author": "carol",
        "author_kind": "human",
        "time": "2025-12-31T22:30:00Z",
        "text": "Why does the login fail on Safari?",
        "parts": [{"type": "text", "text": "Why does the login fail on Safari?"}],
    }


def test_the_kind_comes_first_and_is_the_messages_own():
    assert next(iter(message_object(DECIDED, DECIDED_BODY).items())) == ("kind", "decision")


def test_what_is_not_known_of_a_message_is_absent():
    assert set(message_object(PROMPT, BARE)) == {
        "kind",
        "id",
        "oid",
        "parents",
        "author",
        "author_kind",
        "message_kind",
        "text",
        "parts",
    }


def test_the_time_of_the_commit_is_not_given_as_that_of_the_message():
    """The commit of a message without a time has that of its parent."""
    assert "time" not in message_object(PROMPT, BARE)
    assert header_object(PROMPT)["time"] == "2025-12-31T22:30:00Z"


def test_everything_known_is_there():
    shape = message_object(CALL, CALL_BODY, ["main", "fix"])
    assert shape["to"] == ["carol", "reviewer"]
    assert shape["reply_to"] == PROMPT.id
    assert shape["branches"] == ["main", "fix"]
    assert shape["work_item"] == "W-7"
    assert shape["model"] == "some-model-1"
    assert shape["extra"] == {"mood": "calm"}


def test_files_are_as_append_takes_them():
    assert message_object(CALL, CALL_BODY)["files"] == [
        {"path": "src/login.py", "op": "edit", "content_hash": "sha256:abcd"},
        {"path": "new.py", "op": "rename", "from": "old.py"},
    ]


@pytest.mark.parametrize("name", ["amends", "retracts", "task", "activity", "tool", "status", "stop_reason"])
def test_every_other_field_keeps_its_name(name):
    shape = message_object(PROMPT, replace(BARE, **{name: "value"}))
    assert shape[name] == "value"


def test_a_payload_is_under_the_name_of_its_kind():
    assert message_object(DECIDED, DECIDED_BODY)["decision"] == DECIDED_BODY.payload
    asked = replace(BARE, kind="collaboration-request", payload={"type": "handoff"})
    assert message_object(PROMPT, asked)["collaboration_request"] == {"type": "handoff"}


@pytest.mark.parametrize("kind", ["text", "tool", "parts", "kind", "id", "time"])
def test_a_kind_of_a_newer_version_may_be_called_like_a_field(kind):
    shape = message_object(PROMPT, replace(BARE, kind=kind))
    assert shape["kind"] == kind
    assert shape["id"] == PROMPT.id


def test_a_part_keeps_its_type_and_every_field():
    parts = message_object(CALL, CALL_BODY)["parts"]
    assert parts[-1] == {"type": "hologram", "depth": 3}
    assert parts[2]["input"] == {"command": "grep -rn cookie src", "timeout": 10}


def test_text_is_all_texts_together():
    shape = message_object(
        PROMPT, body(PROMPT, Part("text", {"text": "a"}), Part("raw", {}), Part("text", {"text": "b"}))
    )
    assert shape["text"] == "a\nb"


def test_without_a_body_the_subject_is_used():
    shape = message_object(SECURE, None, ["main"])
    assert shape["subject"] == "Security analysis complete"
    assert shape["branches"] == ["main"]
    assert "text" not in shape


@pytest.mark.parametrize(
    ("time", "written"),
    [
        ("2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z"),
        ("2026-01-01T12:00:00.123456Z", "2026-01-01T12:00:00.123456Z"),
        ("2026-01-01T12:00:00+02:00", "2026-01-01T10:00:00.000Z"),
        ("2026-01-01T00:30:00.250+01:00", "2025-12-31T23:30:00.250Z"),
        ("2026-01-01 12:00:00", "2026-01-01T12:00:00.000Z"),
        ("long ago", "long ago"),
        (None, None),
    ],
)
def test_times_are_written_in_utc(time, written):
    assert utc(time) == written
