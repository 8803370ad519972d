"""How changes are read: as rows in a pipe, and in words on a terminal."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from scopes.history.messages import NO_TEXT
from tests.render.rendering import piped, seen
from tests.render.results import CALL, CHANGES, PROMPT, SAMPLES, change, oid

LOG = SAMPLES["changes"]["changes"]


def test_before_and_after_are_json_in_a_pipe():
    """S4-49: before is nothing, after is the message."""
    row = piped(replace(LOG, items=(CHANGES[1],))).rstrip("\n").split("\t")
    assert row[4] == ""
    assert json.loads(row[5]) == CHANGES[1].after


def test_messages_that_only_use_tools_are_one_row_for_people():
    """Half of the rows were `answer: → Bash` and `tool-results`."""
    called = replace(CHANGES[1], after={**CHANGES[1].after, "kind": "answer", "subject": NO_TEXT}, tools=("Bash",))
    results = replace(CHANGES[1], after={**CHANGES[1].after, "kind": "tool-results", "subject": NO_TEXT}, tools=())
    log = replace(LOG, items=(called, results, called, results, CHANGES[0]))
    text = seen(log, 100)
    assert "4 messages of tool calls and results: → 2 Bash" in text
    assert len(text.splitlines()) == 3, "a heading and two rows"
    assert len(piped(log).splitlines()) == 5


@pytest.mark.parametrize(
    ("field", "before", "after", "words"),
    [
        ("messages", None, {"kind": "decision", "subject": "decision: jwt"}, "decision: jwt"),
        ("messages", None, {"kind": "decision", "subject": "we take jwt"}, "decision: we take jwt"),
        ("messages", None, {"kind": "plain", "subject": "x" * 72}, f"{'x' * 72}…"),
        ("messages", {"id": "x"}, None, "retracted"),
        ("messages[x]", {"id": "x"}, {"amended_by": PROMPT.id}, "amended by prompt22"),
        ("participants", None, "planner", "planner joined"),
        ("title", None, "a title", "set to a title"),
        ("title", "old", "new", "old → new"),
        ("title", "old title", None, "deleted, was old title"),
        ("tags.v1", None, oid("x"), f"set to {oid('x')[:8]}"),
        ("branches.main", {"tip": oid("x")}, {"tip": oid("y")}, f"{oid('x')[:8]} → {oid('y')[:8]}"),
    ],
)
def test_each_kind_of_change_has_its_words(field, before, after, words):
    assert change(field, "UPDATE", before, after).words == words


def test_a_message_without_text_names_its_tools():
    silent = change("messages", "APPEND", None, {"id": CALL.id, "kind": "answer", "subject": NO_TEXT})
    assert replace(silent, tools=("Bash", "Edit")).words == "answer: → Bash, Edit"
