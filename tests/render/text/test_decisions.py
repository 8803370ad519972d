from __future__ import annotations

from scopes.conversation.decisions import DecisionList, DecisionRow
from tests.render.rendering import document, piped, seen_lines
from tests.render.results import DECIDED, SAMPLES, SECURE

DECISIONS = SAMPLES["decisions"]


def test_a_decision_can_be_quoted(at_one_moment):
    """S1-29: with commit, date and agent."""
    assert seen_lines(DECISIONS["decisions"])[-4:] == [
        "cookies",
        "    SameSite=Lax,",
        "    and no other.",
        "    — lead, yesterday 22:40, message decide22 commit d14809f05ad6",
    ]


def test_a_decision_that_the_active_branch_does_not_hold_is_marked(at_one_moment):
    assert seen_lines(DECISIONS["decisions"])[0] == "cookies (superseded on the active branch)"


def test_a_piped_decision_is_a_row_with_whole_ids():
    rows = [row.split("\t") for row in piped(DECISIONS["decisions"]).splitlines()]
    assert rows[1] == [
        "cookies",
        "SameSite=Lax, and no other.",
        "lead",
        "2025-12-31T22:40:00Z",
        DECIDED.id,
        DECIDED.oid,
        "in-effect",
    ]
    assert rows[0][-1] == "superseded"


def test_without_decisions_a_sentence_is_printed_on_a_terminal():
    assert seen_lines(DECISIONS["no-decisions"]) == ["conv-001 holds no decisions."]
    assert piped(DECISIONS["no-decisions"]) == ""


def test_a_decision_on_other_branches_names_them():
    row = DecisionRow(topic="db", decision="SQLite", head=SECURE, current=False, branches=("b1", "b2"))
    found = DecisionList(conversation="conv-001", decisions=(row,))
    assert seen_lines(found)[0] == "db (only on b1, b2)"
    assert piped(found).rstrip().endswith("\tother-branch")
    [shown] = document(found)["decisions"]
    assert (shown["stands"], shown["state"], shown["branches"]) == (False, "other-branch", ["b1", "b2"])
