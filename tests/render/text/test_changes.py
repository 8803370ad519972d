from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.render.rendering import piped, seen_lines
from tests.render.results import CALL, CHANGES, PROMPT, SAMPLES, change, oid

CHANGE = SAMPLES["changes"]


def values(*rows):
    """The last column of changes on a wide terminal."""
    lines = seen_lines(replace(CHANGE["changes"], items=rows), 200)[4:-1]
    return [line.strip("│ ").split("  ")[-1].strip() for line in lines]


def test_changes_are_a_row_each_in_a_pipe():
    rows = [row.split("\t") for row in piped(CHANGE["changes"]).splitlines()]
    assert rows[0] == ["2025-12-31T23:31:00.250Z", "participants", "APPEND", "agent:planner", "", '"planner"', CALL.id]
    assert len(rows) == len(CHANGES)


def test_before_and_after_are_json_in_a_pipe():
    """S4-49: before is nothing, after is the message."""
    row = piped(CHANGES[1]).rstrip("\n").split("\t")
    assert row[4] == ""
    assert json.loads(row[5]) == CHANGES[1].after


def test_a_single_change_has_no_title(at_one_moment):
    assert seen_lines(CHANGE["changes"])[1].strip("│ ") == "Changes of conv-001"
    assert seen_lines(CHANGE["change"])[1].split()[1:6] == ["Time", "Operation", "Field", "Cause", "Value"]


def test_a_terminal_shows_the_short_form_of_a_value(at_one_moment):
    assert values(*CHANGES) == [
        "planner",
        CALL.subject,
        "prompt22",
        "dc76e9f0",
        "edit-edit on decisions/auth flow",
        "source for decisions/auth flow",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a title", "a title"),
        (oid("x"), oid("x")[:8]),
        ({"amended_by": PROMPT.id}, "prompt22"),
        ({"other": [1, None]}, '{"other":[1,null]}'),
        ("two\nlines", "two lines"),
    ],
)
def test_each_kind_of_value_has_a_short_form(value, shown, at_one_moment):
    assert values(change("title", "UPDATE", None, value)) == [shown]


def test_what_was_deleted_shows_what_it_was(at_one_moment):
    assert values(change("title", "DELETE", "old title", None)) == ["old title"]


def test_a_message_in_a_field_is_shortened(at_one_moment):
    assert "messages[prompt22…]" in seen_lines(CHANGES[2], 100)[-2]
    assert f"messages[{PROMPT.id}]" in piped(CHANGES[2])


def test_no_changes_are_no_rows_in_a_pipe():
    assert piped(replace(CHANGE["changes"], items=())) == ""
