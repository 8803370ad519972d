"""CONV/BRANCH names a branch wherever a command works on one; --dry-run of branch -d."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("verb", ["abandon", "delete-branch"])
@pytest.mark.parametrize("words", [("conv-001/fix",), ("conv-001", "fix"), ("conv-001/fix", "fix")])
def test_a_branch_is_hidden_or_deleted_by_either_name(conversation, verb, words):
    """CONV/BRANCH was not accepted."""
    assert conversation.run("conv", verb, *words, "--json")["branch"] == "fix"
    assert list(conversation.branches()) == ["main"]


@pytest.mark.parametrize("verb", ["abandon", "delete-branch"])
def test_a_branch_must_be_named_once(conversation, verb):
    assert conversation.run_refused("conv", verb, "conv-001", code=2)["message"] == "no branch given"
    refusal = conversation.run_refused("conv", verb, "conv-001/fix", "main", code=2)
    assert refusal["message"] == "the branch is given twice: 'fix' and 'main'"


@pytest.mark.parametrize("verb", ["rebase", "cherry-pick", "rename"])
def test_two_different_branches_are_refused(conversation, verb):
    """The branch before the slash was ignored."""
    words = {"rebase": ("--onto", "main"), "cherry-pick": ("main",), "rename": ("new",)}[verb]
    refusal = conversation.run_refused("conv", verb, "conv-001/fix", *words, "--branch", "main", code=2)
    assert refusal["message"] == "the branch is given twice: 'fix' and 'main'"


def test_a_branch_is_renamed_by_either_name(conversation):
    conversation.run("conv", "rename", "conv-001/fix", "repair", "--json")
    assert list(conversation.branches()) == ["main", "repair"]


def test_a_tag_and_a_new_branch_begin_at_the_tip_of_the_named_branch(conversation):
    message = conversation.append("fix", "on fix")
    oid = conversation.branches()["fix"]["tip"]
    assert conversation.run("conv", "tag", "conv-001/fix", "done", "--json")["oid"] == oid
    made = conversation.run("conv", "branch", "conv-001/fix", "next", "--json")
    assert (made["name"], made["tip"]) == ("next", oid)
    assert conversation.run("conv", "tag", "conv-001/main", "other", message, "--json")["oid"] == oid


def test_decisions_of_one_branch_are_those_of_its_history(conversation):
    conversation.append_typed("main", "decision", {"topic": "db", "decision": "SQLite"}, "alice")
    conversation.append_typed("fix", "decision", {"topic": "api", "decision": "REST"}, "bob")
    found = conversation.run("conv", "decisions", "conv-001/fix", "--json")
    assert [(row["topic"], row["stands"]) for row in found["decisions"]] == [("api", True)]
    assert found["branch"] == "fix"
    assert "branch" not in conversation.run("conv", "decisions", "conv-001", "--json")


def test_a_dry_run_of_delete_branch_changes_nothing(conversation):
    """`delete-branch` had no --dry-run."""
    before = conversation.branches()
    seen = conversation.run("conv", "delete-branch", "conv-001/fix", "--dry-run", "--json")
    assert (seen["branch"], seen["dry_run"], seen["tip"]) == ("fix", True, before["fix"]["tip"])
    assert "operation" not in seen
    assert conversation.run("conv", "delete-branch", "conv-001/fix", "--dry-run") == "conv-001/fix\n"
    assert conversation.branches() == before


def test_a_dry_run_of_delete_branch_refuses_what_the_command_refuses(conversation):
    conversation.append("fix", "only here")
    conversation.run_refused("conv", "delete-branch", "conv-001/fix", "--dry-run", code=1)
    assert conversation.run("conv", "delete-branch", "conv-001/fix", "--dry-run", "--force", "--json")["dry_run"]


WRITING = [
    ("append", "conv-001/fi", "text"),
    ("delete-branch", "conv-001", "fi"),
    ("merge", "conv-001", "fi", "--target", "main"),
    ("merge", "conv-001", "fix", "--target", "mai"),
    ("rebase", "conv-001/fi", "--onto", "main"),
    ("switch", "conv-001", "fi"),
    ("rewind", "conv-001/fi"),
]


@pytest.mark.parametrize("words", WRITING)
def test_a_command_that_changes_something_needs_the_whole_name_of_a_branch(conversation, words):
    """After `delete-branch alt`, the same command meant alt2."""
    conversation.append("fix", "more")
    before = conversation.branches()
    refusal = conversation.run_refused("conv", *words, code=4)
    assert refusal["hint"].startswith("did you mean fix?") or refusal["hint"].startswith("did you mean main?")
    assert conversation.branches() == before


def test_a_command_that_reads_takes_the_beginning_of_a_name(conversation):
    """S4-55."""
    conversation.append("fix", "more")
    assert "more" in conversation.run("conv", "log", "conv-001/fi")


def test_a_row_and_json_have_one_word_for_the_status(conversation):
    """S4-8."""
    rows = [line.split("\t")[5] for line in conversation.run("branch", conversation.id).splitlines()]
    assert rows == [each["status"] for each in conversation.run("branch", conversation.id, "--json")["branches"]]
    assert set(rows) == {"active"}
