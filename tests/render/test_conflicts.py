from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.model.conflicts import Position
from scopes.render.conflicts import _side_spans, claim_text, conflict_agents
from scopes.render.view import Span
from scopes.result import confidence
from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import DISAGREED, PROMPT, SAMPLES

CONFLICT = SAMPLES["conflicts"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "Very Low (0)"),
        (0.19, "Very Low (0.19)"),
        (0.2, "Low (0.2)"),
        (0.4, "Medium (0.4)"),
        (0.6, "High (0.6)"),
        (0.75, "High (0.75)"),
        (0.8, "Very High (0.8)"),
        (0.85, "Very High (0.85)"),
        (1, "Very High (1)"),
    ],
)
def test_confidence_is_a_word_and_always_the_number(value, words):
    assert confidence(value) == words


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("decisions/auth", "JWT", "JWT"),
        ("messages/x", {"retracted": True}, "retracted"),
        ("messages/x", {"amended": "sha256:0123456789"}, "amended, sha256:01234567"),
        ("files/a", {"operation": "edit", "content": "sha256:0123456789"}, "edit, sha256:01234567"),
        ("files/a", {"operation": "edit", "unknown": "x"}, "edit; the resulting content is not recorded"),
        (
            "files/a",
            {"operation": "edit", "derived": "sha256:0123456789"},
            "edit; only the patch is recorded, sha256:01234567",
        ),
        ("files/a", {"operation": "delete"}, "delete"),
        ("files/a", {"both": [{"operation": "delete"}, "x"]}, "delete | x"),
        ("proposals/e/x/f", {"retracted": True}, '{"retracted": true}'),
        ("proposals/e/x/f", None, "null"),
        ("proposals/e/x/f", ["é"], '["é"]'),
    ],
)
def test_claims_have_a_readable_text(key, value, words):
    assert claim_text(key, value) == words


def test_a_side_without_a_position_is_shown_as_nothing():
    assert list(_side_spans("decisions/x", ())) == [Span("nothing", "dim")]


def test_an_agent_with_two_positions_is_named_once():
    twice = replace(DISAGREED, source=(Position("a", None, "planner"), Position("b")))
    assert conflict_agents(twice) == "planner"


def test_an_empty_list_prints_a_sentence_on_a_terminal():
    assert seen_lines(CONFLICT["empty-list"]) == ["There are no open conflicts."]
    every = replace(CONFLICT["empty-list"], include_all=True)
    assert seen_lines(every) == ["There are no conflicts."]
    assert piped(CONFLICT["empty-list"]) == ""


def test_a_piped_row_has_whole_ids_and_times():
    rows = [row.split("\t") for row in piped(CONFLICT["list"]).splitlines()]
    assert rows[2] == [
        "conv-001", "3", "0ffc49afc026", "edit-edit", "medium", f"messages/{PROMPT.id}", "planner, reviewer", "debate",
        "2025-12-31T22:00:00Z", "analysis/conflict-resolution", "analysis/security-review", "main",
    ]  # fmt: skip


def test_next_commands_are_suggested_on_a_terminal_only():
    assert "scopes conflicts resolve conv-001 da2d0db7 --take source" in seen(CONFLICT["show"])
    assert "scopes conflicts resolve" not in seen(CONFLICT["show"], hints=False)
    assert "scopes conflicts resolve" not in piped(CONFLICT["show"])
    assert "continue: scopes merge conv-001 --continue" in seen(CONFLICT["show-resolved"])


def test_a_resolution_shows_actor_reason_and_rejected_values():
    """S4-57."""
    lines = piped(CONFLICT["show-resolved"]).splitlines()
    assert lines[-4:] == [
        "Resolved: ask the audit (intervention) by carol",
        "Reason: the audit is next week",
        "Rejected: JWT",
        "Rejected: server-side sessions",
    ]


def test_a_resolution_prints_how_many_conflicts_are_left():
    assert seen_lines(CONFLICT["resolved"])[-1] == "no conflict is open now; continue: scopes merge conv-001 --continue"
    assert seen_lines(CONFLICT["escalated"])[-1] == "3 conflicts still open: scopes conflicts list conv-001"
    assert piped(CONFLICT["resolved"]) == "da2d0db79666\n"


def test_the_sides_that_a_conflict_can_take_are_offered():
    view = CONFLICT["show-several"]
    for sides, expected in ((("source", "target", "base"), True), (("source", "target"), False)):
        text = " ".join(seen(replace(view, sides=sides)).split())
        assert "or another: --take target" in text
        assert ("--take base" in text) is expected
