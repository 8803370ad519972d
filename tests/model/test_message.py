"""A message as a value: what it is made of, and what it says."""

from __future__ import annotations

import dataclasses

import pytest

from scopes.ids import MessageId
from scopes.model import message as module
from scopes.model.message import (
    ACTIVITIES,
    AUTHOR_KINDS,
    FILE_OPERATIONS,
    FILE_WRITES,
    KINDS,
    PART_TYPES,
    TYPED_KINDS,
    Author,
    Message,
    Part,
    payload_key,
    text_parts,
)

ID = MessageId("a" * 26)


def test_the_kinds_are_those_of_the_storage_format():
    """Storage, a message is a commit."""
    assert set(KINDS) == {
        "root", "prompt", "answer", "tool-results", "plain", "system", "proposal", "analysis", "collaboration-request", "decision",
        "priority", "method", "merge", "summary", "compaction", "notice", "error", "interrupt", "meta",
    }  # fmt: skip
    assert set(AUTHOR_KINDS) == {"human", "agent", "tool", "system", "injected"}
    assert set(FILE_OPERATIONS) == {"read", "create", "edit", "delete", "rename", "mention"}
    assert set(ACTIVITIES) == {"agent_action", "file_edit", "decision", "blocker_resolved"}


@pytest.mark.parametrize("names", [KINDS, AUTHOR_KINDS, FILE_OPERATIONS, ACTIVITIES, PART_TYPES])
def test_no_name_stands_twice(names):
    assert len(set(names)) == len(names)


def test_typed_kinds_are_kinds_and_writes_are_operations():
    assert set(KINDS) >= TYPED_KINDS
    assert set(FILE_OPERATIONS) - FILE_WRITES == {"read", "mention"}


def test_a_typed_kinds_document_has_a_field_name_of_its_own():
    keys = [payload_key(kind) for kind in TYPED_KINDS]
    assert len(set(keys)) == len(keys)
    assert all(key.isidentifier() for key in keys)
    assert not {*keys} & {field.name for field in dataclasses.fields(Message)}
    assert payload_key("collaboration-request") == "collaboration_request"


def test_a_message_says_what_its_text_parts_say():
    parts = (*text_parts("one"), Part("reasoning", {"text": "hidden"}), *text_parts("two"), *text_parts(""))
    assert Message(id=ID, author=Author("carol"), parts=parts).text == "one\ntwo\n"
    assert Message(id=ID, author=Author("carol"), parts=()).text == ""


@pytest.mark.parametrize("value", [5, None, ["x"], {"a": 1}])
def test_a_text_that_is_no_text_is_nothing(value):
    """A newer version may put anything there."""
    assert Part("text", {"text": value}).text == ""
    assert Part("text", {}).text == ""


def test_a_message_cannot_be_changed():
    message = Message(id=ID, author=Author("carol"), parts=())
    for target, name in ((message, "kind"), (message.author, "name"), (Part("text", {}), "type")):
        with pytest.raises(AttributeError):
            setattr(target, name, "x")


def test_an_author_is_an_agent_unless_said_otherwise_and_nothing_else_is_assumed():
    message = Message(id=ID, author=Author("carol"), parts=())
    assert message.author.kind == "agent"
    assert message.kind == "plain"
    named = {field.name for field in dataclasses.fields(message)} - {"id", "author", "parts", "kind"}
    assert {name for name in named if getattr(message, name)} == set()


def test_the_module_does_no_work_of_its_own():
    """It is imported at every start."""
    assert not hasattr(module, "pydantic")
