"""Messages as values, and the constants of the format."""

from __future__ import annotations

import dataclasses

import pytest

from scopes.ids import MessageId
from scopes.model import message as module
from scopes.model.message import (
    AUTHOR_KINDS,
    KINDS,
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


@pytest.mark.parametrize("names", [KINDS, AUTHOR_KINDS])
def test_no_name_is_listed_twice(names):
    assert len(set(names)) == len(names)


def test_typed_kinds_are_kinds():
    assert set(KINDS) >= TYPED_KINDS


def test_every_typed_kind_has_its_own_payload_field():
    keys = [payload_key(kind) for kind in TYPED_KINDS]
    assert len(set(keys)) == len(keys)
    assert all(key.isidentifier() for key in keys)
    assert not {*keys} & {field.name for field in dataclasses.fields(Message)}
    assert payload_key("collaboration-request") == "collaboration_request"


def test_the_text_of_a_message_joins_its_text_parts():
    parts = (*text_parts("one"), Part("reasoning", {"text": "hidden"}), *text_parts("two"), *text_parts(""))
    assert Message(id=ID, author=Author("carol"), parts=parts).text == "one\ntwo\n"
    assert Message(id=ID, author=Author("carol"), parts=()).text == ""


@pytest.mark.parametrize("value", [5, None, ["x"], {"a": 1}])
def test_a_text_field_that_is_not_a_string_counts_as_empty(value):
    """A newer version may put anything there."""
    assert Part("text", {"text": value}).text == ""
    assert Part("text", {}).text == ""


def test_a_message_is_immutable():
    message = Message(id=ID, author=Author("carol"), parts=())
    for target, name in ((message, "kind"), (message.author, "name"), (Part("text", {}), "type")):
        with pytest.raises(AttributeError):
            setattr(target, name, "x")


def test_the_default_author_kind_is_agent_and_other_fields_are_unknown():
    message = Message(id=ID, author=Author("carol"), parts=())
    assert message.author.kind == "agent"
    assert message.kind == "plain"
    named = {field.name for field in dataclasses.fields(message)} - {"id", "author", "parts", "kind"}
    assert {name for name in named if getattr(message, name)} == set()


def test_the_module_imports_nothing_heavy():
    """It is imported at every start."""
    assert not hasattr(module, "pydantic")
