"""The optional fields of a message that a program appends."""

from __future__ import annotations

import pytest

from scopes.api.conversation import make_message
from scopes.errors import Invalid, Refused
from scopes.ids import is_message_id
from scopes.model.message import Author

CAROL = Author("carol", "human")
DECISION = {"id": "db", "topic": "database", "value": "sqlite"}


def made(text="Hi.", kind="plain", author=CAROL, **fields):
    return make_message(text, author, kind, fields)


def test_a_message_has_a_new_id_the_time_and_its_author():
    one, two = made(), made()
    assert (one.author, one.kind, one.text) == (CAROL, "plain", "Hi.")
    assert is_message_id(one.id)
    assert one.time < two.time


@pytest.mark.parametrize(
    ("fields", "name", "value"),
    [
        ({"to": "dave"}, "to", ("dave",)),
        ({"to": ["dave", "erin"]}, "to", ("dave", "erin")),
        ({"time": "2026-01-31T09:30:00Z"}, "time", "2026-01-31T09:30:00Z"),
        ({"model": "m"}, "model", "m"),
        ({"tool": "Bash"}, "tool", "Bash"),
        ({"work_item": "w-1"}, "work_item", "w-1"),
        ({"task": "t-1"}, "task", "t-1"),
        ({"status": "error"}, "status", "error"),
        ({"stop_reason": "end_turn"}, "stop_reason", "end_turn"),
    ],
)
def test_a_field_means_what_it_means_on_the_command_line(fields, name, value):
    assert getattr(made(**fields), name) == value


def test_the_text_comes_before_the_parts_that_are_given():
    found = made("Look.", parts=[{"type": "reasoning", "text": "Why?"}])
    assert [(part.type, part.text) for part in found.parts] == [("text", "Look."), ("reasoning", "Why?")]


def test_files_are_kept_with_their_operations():
    found = made(files=[{"path": "a.py", "op": "edit"}, {"path": "b.py", "op": "delete"}])
    assert [(touch.path, touch.op) for touch in found.files] == [("a.py", "edit"), ("b.py", "delete")]


@pytest.mark.parametrize(
    ("name", "shown"), [("colour", "colour"), ("id", "id"), ("author_", "author_"), ("Parts", "Parts")]
)
def test_an_unknown_field_is_a_mistake_of_the_program(name, shown):
    with pytest.raises(TypeError, match=f"a message has no field '{shown}'"):
        made(**{name: "x", "zz": 1})


@pytest.mark.parametrize("kind", ["plain", "proposal", "method"])
def test_the_document_of_another_kind_is_refused(kind):
    with pytest.raises(Invalid, match=f"a message of kind {kind} has no field 'decision'"):
        made(kind=kind, decision=DECISION)


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u2003"])
def test_a_message_without_content_is_refused(text):
    with pytest.raises(Refused, match="the message is empty") as refusal:
        made(text)
    assert refusal.value.hint == "give a text, or parts"
    assert made(text, parts=[{"type": "text", "text": "x"}]).parts


@pytest.mark.parametrize(
    "fields",
    [
        {"time": "yesterday"},
        {"files": [{"path": "a.py", "op": "paint"}]},
        {"files": [{"op": "edit"}]},
        {"parts": [{"text": "no type"}]},
        {"parts": "text"},
        {"to": [7]},
        {"model": 7},
    ],
)
def test_an_invalid_value_is_refused(fields):
    with pytest.raises(Invalid):
        made(**fields)
