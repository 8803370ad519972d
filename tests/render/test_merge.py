from __future__ import annotations

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


def test_no_line_of_a_conflict_is_wider_than_the_terminal():
    assert max(map(len, seen_lines(MERGE["conflict"], 60, hints=False)[4:])) <= 60
