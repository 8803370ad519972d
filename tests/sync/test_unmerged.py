"""`push --force` removes messages of others that no branch here ever had only if that is confirmed."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import rewind
from scopes.conversation.undo import list_operations, undo
from scopes.sync.unmerged import UnmergedBranch
from tests.support.history import say, texts
from tests.support.recalled import recalled
from tests.support.remotes import fetch_from, machine, pull_from, push_to

NAME = "conv-001"


@pytest.fixture
@recalled
def rejected(sent, bare, tmp_path):
    """A store whose push was rejected, and the other one, which had pushed two messages before."""
    theirs = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(theirs)
    say(theirs, NAME, "theirs", author="dave")
    say(theirs, NAME, "theirs, too", author="erin")
    push_to(theirs)
    say(sent, NAME, "ours")
    (row,) = push_to(sent).conversations
    assert row.diverged == ("main",)
    return sent, theirs


@pytest.mark.parametrize("is_preview", [True, False])
def test_what_a_rejected_push_has_fetched_is_not_removed_by_a_forced_one(rejected, is_preview):
    ours, theirs = rejected
    done = push_to(ours, NAME, force=True, dry_run=is_preview)
    (row,) = done.conversations
    assert (row.status, row.unmerged, done.exit_code) == ("refused", (UnmergedBranch("main", 2, ("erin", "dave")),), 1)
    assert row.reason == (
        "origin has 2 messages by erin, dave that no branch here ever had (2 on main): get them: scopes pull conv-001; "
        "see them: scopes log conv-001/origin/main; remove them there: scopes push conv-001 --force --yes"
    )
    fetch_from(theirs)
    assert texts(theirs, f"{NAME}/origin/main")[-1] == "theirs, too"


def test_it_is_removed_if_that_is_confirmed_and_the_row_says_how_much(rejected):
    ours, theirs = rejected
    (row,) = push_to(ours, NAME, force=True, drops_unmerged=True).conversations
    assert (row.status, row.replaced, row.unmerged) == ("updated", (("main", 2),), ())
    fetch_from(theirs)
    assert texts(theirs, f"{NAME}/origin/main")[-1] == "ours"


def test_what_a_branch_here_once_had_is_removed_without_a_question(rejected):
    ours, _ = rejected
    pull_from(ours)
    push_to(ours)
    rewind(ours, NAME, to="main~1")
    (row,) = push_to(ours, NAME, force=True).conversations
    assert (row.status, row.unmerged) == ("updated", ())
    assert row.replaced


def test_the_branch_that_was_named_is_in_the_command(rejected):
    ours, _ = rejected
    (row,) = push_to(ours, f"{NAME}/main", force=True).conversations
    assert row.reason.endswith(f"scopes push {NAME}/main --force --yes")


def test_undo_takes_back_what_the_user_did_and_not_the_fetch_of_a_push(rejected):
    ours, _ = rejected
    newest = list_operations(ours).operations[0]
    assert (newest.kind, newest.summary) == ("push", "fetch 1 conversation from origin for a push")
    undone = undo(ours)
    assert (undone.target.kind, undone.notes) == ("append", ())
    assert "ours" not in texts(ours, NAME)


def test_a_fetch_that_has_moved_a_branch_here_is_named_as_part_of_the_push(sent, bare, tmp_path):
    theirs = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(theirs)
    say(theirs, NAME, "theirs")
    push_to(theirs)
    say(sent, f"{NAME}/fix", "ours")
    push_to(sent)
    assert texts(sent, NAME)[-1] == "theirs"
    undone = undo(sent)
    assert (undone.target.kind, undone.summary) == ("fetch", "fetch 1 conversation from origin for a push")
