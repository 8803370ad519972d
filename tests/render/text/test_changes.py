from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

from scopes.history.messages import NO_TEXT
from tests.render.rendering import piped, seen_lines
from tests.render.results import CALL, CHANGES, PROMPT, SAMPLES, change, oid

CHANGE = SAMPLES["changes"]


def values(*rows):
    """The changes in words, on a wide terminal."""
    lines = seen_lines(replace(CHANGE["changes"], items=rows), 200)[2:]
    return [re.split(r" {2,}", line.strip())[2] for line in lines]


def test_changes_are_a_row_each_in_a_pipe():
    rows = [row.split("\t") for row in piped(CHANGE["changes"]).splitlines()]
    assert rows[0] == ["2025-12-31T23:31:00Z", "participants", "APPEND", "agent:planner", "", '"planner"', CALL.id]
    assert len(rows) == len(CHANGES)


def test_before_and_after_are_json_in_a_pipe():
    """S4-49: before is nothing, after is the message."""
    row = piped(CHANGES[1]).rstrip("\n").split("\t")
    assert row[4] == ""
    assert json.loads(row[5]) == CHANGES[1].after


def test_a_single_change_has_no_title(at_one_moment):
    assert seen_lines(CHANGE["changes"])[0] == "Changes of conv-001"
    assert seen_lines(CHANGE["change"])[0].split() == ["Time", "Field", "Change", "By"]


def test_messages_that_only_use_tools_are_one_row(at_one_moment):
    """Half of the rows were `answer: → Bash` and `tool-results`."""
    called = replace(CHANGES[1], after={**CHANGES[1].after, "kind": "answer", "subject": NO_TEXT}, tools=("Bash",))
    results = replace(CHANGES[1], after={**CHANGES[1].after, "kind": "tool-results", "subject": NO_TEXT}, tools=())
    assert values(called, results, called, results, CHANGES[0]) == [
        "4 messages of tool calls and results: → 2 Bash",
        "planner joined",
    ]
    assert len(piped(replace(CHANGE["changes"], items=(called, results))).splitlines()) == 2


def test_a_terminal_tells_what_happened_in_words(at_one_moment):
    """D11: the values were JSON, wrapped."""
    assert values(*CHANGES) == [
        "planner joined",
        f"answer: {CALL.subject}",
        "retracted",
        "started at dc76e9f0",
    ]


@pytest.mark.parametrize(
    ("field", "before", "after", "words"),
    [
        (
            "messages",
            None,
            {"kind": "decision", "subject": "decision: jwt · topic: auth"},
            "decision: jwt · topic: auth",
        ),
        ("messages", None, {"kind": "decision", "subject": "we take jwt"}, "decision: we take jwt"),
        ("title", None, "a title", "set to a title"),
        ("title", "old", "new", "old → new"),
        ("title", "old title", None, "deleted, was old title"),
        ("tags.v1", None, oid("x"), f"set to {oid('x')[:8]}"),
        ("branches.main", {"tip": oid("x")}, {"tip": oid("y")}, f"{oid('x')[:8]} → {oid('y')[:8]}"),
        ("branches.main.status", "active", "abandoned", "active → abandoned"),
        ("messages[x]", {"id": "x"}, {"amended_by": PROMPT.id}, "amended by prompt22"),
        ("messages", None, {"kind": "tool-results", "subject": "(no text)"}, "tool-results"),
        ("other", None, [1, None], "set to [1,null]"),
        ("title", None, "two\nlines", "set to two lines"),
    ],
)
def test_each_kind_of_change_has_its_words(field, before, after, words, at_one_moment):
    assert values(change(field, "UPDATE", before, after)) == [words]


def test_a_table_of_changes_fits(at_one_moment):
    wide = change(f"branches.{'x' * 150}", "UPDATE", "a" * 90, "会" * 90, cause=f"agent:{'n' * 90}")
    assert all(cell_len(line) <= 80 for line in seen_lines(replace(CHANGE["changes"], items=(wide,)), 80))


def test_a_message_in_a_field_is_shortened(at_one_moment):
    assert "messages[prompt22…]" in seen_lines(CHANGES[2], 100)[-1]
    assert f"messages[{PROMPT.id}]" in piped(CHANGES[2])


def test_no_changes_are_no_rows_in_a_pipe():
    assert piped(replace(CHANGE["changes"], items=())) == ""


def test_a_subject_that_its_commit_cut_ends_in_an_ellipsis_and_a_message_without_text_names_its_tools():
    long = {"id": PROMPT.id, "kind": "plain", "subject": "x" * 72}
    silent = {"id": CALL.id, "kind": "answer", "subject": "(no text)"}
    rows = [replace(CHANGES[0], field_path="messages", before=None, after=after) for after in (long, silent)]
    assert values(rows[0], replace(rows[1], tools=("Bash", "Edit"))) == [f"{'x' * 72}…", "answer: → Bash, Edit"]
