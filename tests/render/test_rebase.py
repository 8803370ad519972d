from __future__ import annotations

import re

import pytest

from tests.render.rendering import document, piped, seen, seen_lines
from tests.render.results import OPERATION, SAMPLES

REBASE, PICK = SAMPLES["rebase"], SAMPLES["cherry_pick"]


def test_a_rebase_prints_what_was_moved_where_and_how_to_undo_it():
    assert seen_lines(REBASE["rebased"]) == [
        "rebased conv-001/analysis/security-review onto main: 2 messages",
        "undo with: scopes undo",
    ]


@pytest.mark.parametrize("name", ["up-to-date", "rebased", "rebased-dry-run"])
def test_in_a_pipe_a_rebased_branch_is_its_name(name):
    assert piped(REBASE[name]) == "analysis/security-review\n"


def test_in_a_pipe_a_stopped_rebase_is_the_branch_that_it_waits_on():
    """A script goes on there: branch=$(scopes rebase conv-001 --onto main)."""
    assert piped(REBASE["conflict"]) == "analysis/conflict-resolution\n"


def test_beforehand_every_message_is_named_with_both_its_commits():
    lines = seen_lines(REBASE["rebased-dry-run"])
    assert lines[0] == "conv-001/analysis/security-review would be rebased onto main: 2 messages"
    assert [line.split()[0] for line in lines[1:3]] == ["callit22", "secure22"]
    assert "undo" not in seen(REBASE["rebased-dry-run"])


@pytest.mark.parametrize(("sample", "kind"), [(REBASE["conflict"], "rebase"), (PICK["conflict"], "cherry-pick")])
def test_a_stop_names_the_message_the_branch_and_the_ways_out(sample, kind):
    text = seen(sample)
    assert "is unchanged: 1 conflict at message secure22" in text
    assert "talk about it on " in text
    assert "1 message done, 4 to do after this one" in text
    for step in ("--skip", "--abort"):
        assert f"scopes {kind} conv-001 {step}" in text
    assert re.search(r"scopes conflicts resolve conv-001 \w{8} --take source --continue\n", text)


def test_a_resolved_conflict_is_not_shown_again_and_keeps_its_number():
    lines = [line for line in seen_lines(REBASE["conflict"]) if "competing" in line or "decision-dis" in line]
    assert [line.split()[0] for line in lines] == ["2"]


@pytest.mark.parametrize("sample", [REBASE["conflict-dry-run"], PICK["conflict-dry-run"]])
def test_a_stop_that_has_not_happened_has_no_ways_out(sample):
    assert "would be unchanged" in seen(sample)
    assert "--continue" not in seen(sample)


def test_hints_can_be_switched_off():
    assert "--continue" not in seen(REBASE["conflict"], hints=False)
    assert seen_lines(REBASE["rebased"], hints=False)[1:] == []


@pytest.mark.parametrize("sample", [REBASE["aborted"], PICK["aborted"], SAMPLES["merge"]["aborted"]])
def test_abort_prints_which_branch_is_active_and_in_a_pipe_nothing_as_git_does(sample):
    kind = sample.kind.removesuffix("-abort")
    assert seen_lines(sample)[0] == f"aborted the {kind} in conv-001; the active branch is main"
    assert piped(sample) == ""


def test_cherry_pick_prints_how_many_messages_went_to_which_branch():
    assert seen_lines(PICK["picked"])[0] == "picked 2 messages onto conv-001/main"
    assert seen_lines(PICK["picked-dry-run"])[0] == "2 messages would be picked onto conv-001/main"
    assert seen_lines(PICK["up-to-date"])[0] == "conv-001/main already has these messages"


def test_the_map_is_for_machines():
    assert [sorted(row) for row in document(REBASE["rebased"])["map"]] == [["id", "new", "old"]] * 2
    assert document(REBASE["rebased"])["operation"] == OPERATION
    assert OPERATION not in seen(REBASE["rebased"]) + piped(REBASE["rebased"])


def test_conflicts_are_laid_out_as_a_merge_does():
    mine, merged = (document(sample)["conflicts"][0] for sample in (PICK["conflict"], SAMPLES["merge"]["conflict"]))
    assert mine == merged
