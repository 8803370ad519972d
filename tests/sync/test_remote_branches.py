"""`origin/main` is the branch of a remote as it was last seen; `show` compares with it, and `pull` merges it."""

from __future__ import annotations

import pytest

from scopes.conversation.merge import merge
from scopes.conversation.merge_outcomes import Merged
from scopes.conversation.show import show
from scopes.conversation.undo import undo
from scopes.errors import NotFound
from scopes.history.remote_branches import RemoteState
from scopes.history.revisions import list_branch_tips, resolve_revision
from scopes.store.refs import REMOTES
from scopes.store.remote_file import FILE
from scopes.sync.local_conversations import Selection
from scopes.sync.pull import pull
from scopes.sync.remotes import resolve_remote
from tests.support.history import history, say, texts
from tests.support.remotes import connection, fetch_from, machine, push_to
from tests.support.store import refs, write_bytes


@pytest.fixture
def theirs(ours, bare, tmp_path):
    """Another machine; main has a message on each side, and the remote that of the other one."""
    push_to(ours)
    other = machine(tmp_path / "theirs", bare, "dave")
    fetch_from(other)
    say(ours, "conv-001/main", "from carol")
    push_to(ours)
    say(other, "conv-001/main", "from dave", author="dave")
    return other


def pull_from(repository, *names):
    """Pull conversations, by default all."""
    return pull(repository, resolve_remote(repository, None), Selection(names), connection())


def decide(repository, decision, author):
    """Append a decision about one topic."""
    text = {"topic": "storage", "decision": decision}
    say(repository, "conv-001/main", decision, author=author, kind="decision", decision=text)


def test_a_branch_of_a_remote_is_a_revision(ours, theirs):
    fetch_from(theirs)
    tip = list_branch_tips(ours, "conv-001")["main"]
    for name in ("conv-001/origin/main", "conv-001/origin/main~0"):
        assert resolve_revision(theirs, name).oid == tip
    assert resolve_revision(theirs, "origin/main", "conv-001").oid == tip
    assert resolve_revision(theirs, "origin/main~1", "conv-001").oid != tip
    assert texts(theirs, "conv-001/origin/main")[-1] == "from carol"


@pytest.mark.parametrize("name", ["origin/missing", "backup/main", "origin", "origin/"])
def test_what_no_remote_has_is_not_found(theirs, name):
    with pytest.raises(NotFound):
        resolve_revision(theirs, name, "conv-001")


def test_a_local_branch_of_that_name_comes_first(theirs):
    from scopes.conversation.branch import branch

    branch(theirs, "conv-001", name="origin/main", start="fix")
    assert resolve_revision(theirs, "conv-001/origin/main").branch == "origin/main"


def test_a_damaged_list_of_remotes_hides_their_branches_only(theirs):
    write_bytes(f"{theirs.path}/{FILE}", b"{")
    assert resolve_revision(theirs, "conv-001/main").branch == "main"
    with pytest.raises(NotFound):
        resolve_revision(theirs, "conv-001/origin/main")


def test_a_damaged_manifest_hides_its_branches_only(theirs):
    ref = next(iter(theirs.list_refs(REMOTES)))
    write_bytes(f"{theirs.path}/{ref}", list_branch_tips(theirs, "conv-001")["main"].encode() + b"\n")
    assert show(theirs, "conv-001").branches[0].remotes == ()


def test_show_counts_what_each_side_has_more(theirs):
    fetch_from(theirs)
    rows = {row.name: row.remotes for row in show(theirs, "conv-001").branches}
    assert rows == {"main": (RemoteState("origin/main", 1, 1),), "fix": (RemoteState("origin/fix", 0, 0),)}
    push_to(theirs, force=True)
    assert show(theirs, "conv-001/main").branches[0].remotes == (RemoteState("origin/main", 0, 0),)


def test_a_branch_that_the_remote_lacks_is_compared_with_nothing(ours, theirs):
    from scopes.conversation.branch import branch

    branch(ours, "conv-001", name="new")
    rows = {row.name: row.remotes for row in show(ours, "conv-001").branches}
    assert rows["new"] == ()


def test_a_conversation_that_was_never_shared_is_compared_with_nothing(repository):
    history(repository, "main: a")
    assert show(repository, "conv-001").branches[0].remotes == ()


def test_the_branch_of_a_remote_is_merged_as_any_other(theirs):
    fetch_from(theirs)
    outcome = merge(theirs, "conv-001", "origin/main", target="main")
    assert isinstance(outcome, Merged)
    assert outcome.source == "origin/main"
    assert {"from carol", "from dave"} <= set(texts(theirs, "conv-001/main"))


def test_pull_merges_what_differs(ours, theirs):
    pulled = pull_from(theirs)
    assert [(each.branch, each.source, each.state) for each in pulled.branches] == [("main", "origin/main", "merged")]
    assert pulled.exit_code == 0
    assert push_to(theirs).exit_code == 0
    assert pull_from(ours).branches == ()
    assert list_branch_tips(ours, "conv-001") == list_branch_tips(theirs, "conv-001")


def test_a_second_pull_has_nothing_to_merge(theirs):
    pull_from(theirs)
    again = pull_from(theirs, "conv-001")
    assert (again.branches, again.fetched.conversations) == ((), ())


def test_one_undo_takes_back_a_pull(theirs):
    before = refs(theirs)
    pull_from(theirs)
    undo(theirs)
    assert refs(theirs) == before


def test_pull_merges_what_an_earlier_fetch_left(theirs):
    fetch_from(theirs)
    assert [each.state for each in pull_from(theirs).branches] == ["merged"]


def test_a_pull_of_two_decisions_stops_on_the_conflict(ours, theirs):
    decide(ours, "sqlite", "carol")
    decide(theirs, "postgres", "dave")
    push_to(ours)
    pulled = pull_from(theirs)
    assert [(each.state, each.conflicts) for each in pulled.branches] == [("conflict", 1)]
    assert pulled.exit_code == 3
    assert "scopes merge conv-001 --continue" in pulled.notes[0].hint
    (again,) = pull_from(theirs).branches
    assert again.state == "refused"
    hint = push_to(theirs).notes[-1].hint
    for words in ("conflicts list conv-001", "merge conv-001 --continue (or --abort)"):
        assert (words in again.reason, words in hint) == (True, True)


def test_a_conversation_that_is_not_chosen_is_not_merged(ours, theirs):
    history(theirs, "main: x")
    assert pull_from(theirs, "conv-001").branches != ()
    say(ours, "conv-001/main", "more")
    push_to(ours)
    push_to(theirs, "conv-002")
    assert pull_from(theirs, "conv-002").branches == ()
