"""`pull --rebase` moves the messages that the remote lacks on top of those that it has, as `rebase` does."""

from __future__ import annotations

import pytest

from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.rebase import abort_rebase, continue_rebase
from scopes.conversation.undo import undo
from scopes.history.messages import header_of
from scopes.history.metadata import read_metadata
from scopes.history.names import list_branch_tips
from scopes.model.message import Author
from scopes.store.graph import walk_newest_first
from scopes.store.objects import read_commit
from scopes.sync.local_conversations import Selection
from scopes.sync.pull import pull
from scopes.sync.remotes import resolve_remote
from tests.support.history import say, texts
from tests.support.recalled import recalled
from tests.support.remotes import connection, fetch_from, machine, push_to
from tests.support.store import assert_sound, refs


@pytest.fixture
@recalled
def theirs(ours, bare, tmp_path):
    """Another machine; both branches have a message on each side, and the remote has those of the first one."""
    push_to(ours)
    other = machine(tmp_path / "theirs", bare, "dave")
    fetch_from(other)
    for name in ("main", "fix"):
        say(ours, f"conv-001/{name}", f"carol in {name}")
        say(other, f"conv-001/{name}", f"dave in {name}", author="dave")
    push_to(ours)
    return other


def rebase_from(repository, *names):
    """Pull with a rebase, by default all."""
    return pull(repository, resolve_remote(repository, None), Selection(names), connection(), rebasing=True)


def merge_from(repository):
    """Pull with a merge."""
    return pull(repository, resolve_remote(repository, None), Selection(), connection())


def states(pulled):
    """Return the branches with what became of them."""
    return {each.branch: (each.state, each.source, each.messages) for each in pulled.branches}


def test_own_messages_come_after_those_of_the_remote(theirs):
    assert states(rebase_from(theirs)) == {
        "main": ("rebased", "origin/main", 1), "fix": ("rebased", "origin/fix", 1),
    }  # fmt: skip
    assert texts(theirs, "conv-001/main")[-2:] == ["carol in main", "dave in main"]
    assert texts(theirs, "conv-001/fix")[-2:] == ["carol in fix", "dave in fix"]


def test_the_history_has_no_merge_and_the_messages_keep_their_ids(theirs):
    before = header_of(read_commit(theirs, list_branch_tips(theirs, "conv-001")["main"])).id
    rebase_from(theirs)
    tips = list_branch_tips(theirs, "conv-001")
    assert header_of(read_commit(theirs, tips["main"])).id == before
    assert all(len(commit.parents) <= 1 for commit in walk_newest_first(theirs, tips.values()))


def test_the_fork_point_of_a_branch_stays(theirs):
    before = read_metadata(theirs, "conv-001").branches
    rebase_from(theirs)
    assert read_metadata(theirs, "conv-001").branches == before


@pytest.mark.slow
def test_a_push_is_taken_afterwards_and_both_sides_are_equal(ours, theirs):
    rebase_from(theirs)
    assert push_to(theirs).exit_code == 0
    fetch_from(ours)
    assert list_branch_tips(ours, "conv-001") == list_branch_tips(theirs, "conv-001")
    for store in (ours, theirs):
        assert_sound(store)


def test_a_branch_without_own_messages_moves_forward_in_the_fetch(theirs, ours):
    rebase_from(theirs)
    push_to(theirs)
    pulled = rebase_from(ours)
    assert pulled.branches == ()
    assert {each.state for each in pulled.fetched.conversations[0].branches} == {"moved"}


def test_one_undo_takes_back_the_whole_pull(theirs):
    before = refs(theirs)
    rebase_from(theirs)
    undo(theirs)
    assert refs(theirs) == before


@pytest.mark.slow
def test_a_conversation_that_is_not_chosen_stays(theirs):
    from tests.support.history import history

    history(theirs, "main: other")
    push_to(theirs, "conv-002")
    assert rebase_from(theirs, "conv-002").branches == ()
    assert states(rebase_from(theirs, "conv-001")).keys() == {"main", "fix"}


@pytest.fixture
@recalled
def contradicting(ours, theirs):
    """Both sides have decided about one topic."""
    for store, decision, author in ((ours, "sqlite", "carol"), (theirs, "postgres", "dave")):
        text = {"topic": "storage", "decision": decision}
        say(store, "conv-001/main", decision, author=author, kind="decision", decision=text)
    push_to(ours)
    return theirs


def test_a_conflict_stops_that_branch_and_not_the_others(contradicting):
    pulled = rebase_from(contradicting)
    assert {each.branch: each.state for each in pulled.branches} == {"main": "conflict", "fix": "rebased"}
    assert pulled.exit_code == 3
    assert "scopes rebase conv-001 --continue" in pulled.notes[0].hint
    assert [each.state for each in rebase_from(contradicting).branches] == ["refused"]


def test_a_conflict_is_resolved_as_in_any_rebase(contradicting, ours):
    rebase_from(contradicting)
    resolve_conflict(contradicting, "conv-001", "1", take="source", author=Author("erin", "human"))
    continue_rebase(contradicting, "conv-001")
    assert push_to(contradicting).exit_code == 0
    fetch_from(ours)
    there = list_branch_tips(contradicting, "conv-001")
    assert list_branch_tips(ours, "conv-001") == {name: there[name] for name in ("main", "fix")}


@pytest.mark.parametrize("first", ["rebase", "merge"])
@pytest.mark.slow
def test_a_pull_in_the_other_way_is_refused_while_one_is_in_progress(contradicting, first):
    pulls = {"rebase": rebase_from, "merge": merge_from}
    assert pulls.pop(first)(contradicting).exit_code == 3
    before = refs(contradicting)
    [other] = pulls.values()
    [row] = [each for each in other(contradicting).branches if each.branch == "main"]
    assert (row.state, refs(contradicting)) == ("refused", before)
    assert row.reason.startswith(f"a {first} of conv-001/main is in progress on conflict-resolution/")
    verb = f"scopes {first} conv-001"
    assert row.reason.endswith(f"first: {verb} --continue, or {verb} --abort")


def test_an_aborted_rebase_leaves_the_branch_as_it_was(contradicting):
    before = list_branch_tips(contradicting, "conv-001")["main"]
    rebase_from(contradicting)
    abort_rebase(contradicting, "conv-001")
    assert list_branch_tips(contradicting, "conv-001")["main"] == before


def test_a_merge_of_ones_own_is_flattened_as_git_does(theirs):
    from scopes.conversation.merge import merge

    merge(theirs, "conv-001", "fix", target="main")
    assert states(rebase_from(theirs))["main"][0] == "rebased"
    assert set(texts(theirs, "conv-001/main")) >= {"carol in main", "dave in main", "dave in fix"}
