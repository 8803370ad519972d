from __future__ import annotations

from dataclasses import replace

import pytest

from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import SAMPLES

MERGE = SAMPLES["merge"]
DONE = ("fast-forward", "merged", "aborted")


@pytest.mark.parametrize("name", [name for name in MERGE if not name.endswith("-dry-run") and name != "aborted"])
def test_in_a_pipe_a_merge_is_the_name_of_the_branch_with_its_result(name):
    result = MERGE[name]
    assert piped(result) == f"{result.branch}\n"


@pytest.mark.parametrize(
    ("name", "outcome"),
    [("fast-forward-dry-run", "fast-forward"), ("merged-dry-run", "merged"), ("conflict-dry-run", "conflict")],
)
def test_in_a_pipe_a_dry_run_is_a_row_with_outcome_branches_and_counts(name, outcome):
    result = MERGE[name]
    number = sum(conflict.status != "resolved" for conflict in result.conflicts)
    row = (outcome, result.conversation, result.target, result.source, str(len(result.messages)), str(number))
    assert piped(result) == "\t".join(row) + "\n"


@pytest.mark.parametrize("name", DONE)
def test_a_moved_branch_prints_how_to_undo_it(name):
    assert seen_lines(MERGE[name])[-1] == "undo with: scopes undo"
    assert len(seen_lines(MERGE[name], hints=False)) == 1


@pytest.mark.parametrize("name", ["fast-forward-dry-run", "merged-dry-run", "conflict-dry-run"])
def test_a_dry_run_prints_no_undo_and_no_next_step(name):
    text = seen(MERGE[name])
    assert " would " in text
    assert "undo" not in text
    assert "scopes " not in text


def test_a_merge_prints_how_many_messages_are_new_and_from_where():
    assert seen_lines(MERGE["merged"])[0] == (
        "merged analysis/security-review into conv-001/main by joined22: 2 messages"
    )
    assert seen_lines(MERGE["fast-forward"])[0].endswith("fast-forwarded to analysis/security-review: 1 message")
    assert seen_lines(MERGE["up-to-date"]) == ["conv-001/main is already up to date with analysis/security-review"]


def test_conflicts_resolved_automatically_are_listed():
    assert seen_lines(MERGE["merged-resolved"])[2:4] == [
        "resolved automatically: 1 conflict",
        "    resource-contention  files/src/app.py  kept both sides (automatic)",
    ]


@pytest.mark.parametrize(
    ("choice", "strategy", "words"),
    [
        ("both", "automatic", "kept both sides (automatic)"),
        ("source", "theirs", "took the source (theirs)"),
        ("target", "ours", "took the target (ours)"),
        ("base", "automatic", "took the base (automatic)"),
        ("value", "reused", "value (reused)"),
    ],
)
def test_an_automatic_resolution_is_shown_in_words(choice, strategy, words):
    """It was `automatic: both`, which says neither who did what nor what became of the sides."""
    (conflict,) = MERGE["merged-resolved"].conflicts
    resolved = replace(conflict, resolution=conflict.resolution._replace(choice=choice, strategy=strategy))
    lines = seen_lines(replace(MERGE["merged-resolved"], conflicts=(resolved,)), 100)
    assert lines[3] == f"    resource-contention  files/src/app.py  {words}"


def test_a_stopped_merge_shows_both_sides_of_each_conflict():
    lines = seen_lines(MERGE["conflict"], 100)
    assert lines[0] == "conv-001/main is unchanged: 2 conflicts with analysis/security-review"
    assert lines[4:7] == [
        " 1  decision-disagreement  high  decisions/auth flow  da2d0db7",
        "    target main                      JWT — planner",
        "    source analysis/security-review  server-side sessions with a short life — reviewer",
    ]


def test_a_stopped_merge_prints_how_to_continue_and_abort():
    commands = [line.partition(":")[2].strip() for line in seen_lines(MERGE["conflict"])[-3:]]
    assert commands == [
        "scopes conflicts show conv-001 da2d0db7",
        "scopes conflicts resolve conv-001 da2d0db7 --take source --continue",
        "scopes merge conv-001 --abort",
    ]
    assert "scopes" not in seen(MERGE["conflict"], hints=False)


def test_no_line_of_a_conflict_is_wider_than_the_terminal():
    assert max(map(len, seen_lines(MERGE["conflict"], 60, hints=False)[4:])) <= 60


def test_of_many_conflicts_the_first_are_shown():
    assert "    … and 3 more" in seen_lines(MERGE["many-conflicts"])
