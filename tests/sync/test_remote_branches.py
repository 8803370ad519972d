"""`origin/main` is the branch of a remote as it was last seen; `show` compares with it, and `pull` merges it."""

from __future__ import annotations

import re

import pytest

from scopes.conversation.branch import branch, tag
from scopes.conversation.conflicts import list_conflicts, resolve_conflict
from scopes.conversation.merge import Merged, continue_merge, merge
from scopes.conversation.show import show
from scopes.conversation.undo import undo
from scopes.errors import Corrupt, Invalid, NotFound
from scopes.history.messages import message_id_of
from scopes.history.metadata import RemoteState
from scopes.history.names import list_branch_tips, resolve_revision
from scopes.history.transaction import Transaction
from scopes.model.conversation import BranchEntry
from scopes.model.message import Author
from scopes.store.objects import read_commit
from scopes.store.refs import REMOTES, REMOTES_FILE
from scopes.sync.local_conversations import Selection
from scopes.sync.pull import pull
from scopes.sync.remotes import resolve_remote
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import add, connection, fetch_from, machine, push_to
from tests.support.store import FAST, make_store, open_store, refs, write_bytes


@pytest.fixture
@recalled
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


@pytest.fixture
@recalled
def misled(ours, bare, tmp_path):
    """A machine to which somebody, who calls the remote otherwise, has sent a branch that is called origin/main."""
    other = machine(tmp_path / "theirs", bare, "dave")
    push_to(ours)
    fetch_from(other)
    with_other_name = make_store(tmp_path / "mallory")
    add(with_other_name, bare, "backup")
    mallory = open_store(with_other_name, FAST, "mallory")
    fetch_from(mallory, remote="backup")
    branch(mallory, "conv-001", name="origin/main", start="fix", switch=False)
    say(mallory, "conv-001/origin/main", "nobody asked for this", author="mallory")
    push_to(mallory, remote="backup")
    fetch_from(ours)
    say(ours, "conv-001/main", "from carol")
    push_to(ours)
    say(other, "conv-001/main", "from dave", author="dave")
    return other


@pytest.mark.parametrize("rebasing", [False, True])
@pytest.mark.slow
def test_a_pull_takes_what_the_remote_has_not_a_branch_of_that_name(misled, rebasing):
    done = pull(misled, resolve_remote(misled, None), Selection(), connection(), rebasing=rebasing)
    assert [each.source for each in done.branches] == ["origin/main"]
    assert list_branch_tips(misled, "conv-001").keys() >= {"main", "origin/main"}
    found = texts(misled, "conv-001/main")
    assert {"from carol", "from dave"} <= {*found}
    assert "nobody asked for this" not in found


@pytest.mark.slow
def test_a_local_branch_of_that_name_comes_first_for_a_reader_with_a_note(misled):
    fetch_from(misled)
    notes = []
    misled.caller = misled.caller._replace(note=notes.append)
    assert resolve_revision(misled, "conv-001/origin/main").branch == "origin/main"
    assert [note.hint for note in notes] == [
        "say what you mean: conv-001/refs/heads/origin/main or conv-001/refs/remotes/origin/main"
    ]


@pytest.mark.parametrize("name", ["origin/main", "origin/new/x", "bundle/x"])
def test_a_new_branch_or_tag_is_not_named_like_one_of_a_remote(ours, name):
    fetch_from(ours)
    for create in (branch, tag):
        with pytest.raises(Invalid, match=f"are the branches of the remote {name.partition('/')[0]}"):
            create(ours, "conv-001", name=name)


def test_a_damaged_list_of_remotes_is_named_where_their_branches_are_needed(theirs):
    write_bytes(f"{theirs.path}/{REMOTES_FILE}", b"{")
    assert resolve_revision(theirs, "conv-001/main").branch == "main"
    with pytest.raises(Corrupt, match=REMOTES_FILE):
        resolve_revision(theirs, "conv-001/origin/main")


def test_a_damaged_manifest_hides_its_branches_only(theirs):
    ref = next(iter(theirs.list_refs(REMOTES)))
    write_bytes(f"{theirs.path}/{ref}", list_branch_tips(theirs, "conv-001")["main"].encode() + b"\n")
    assert show(theirs, "conv-001").branches[0].remotes == ()


def test_show_counts_what_each_side_has_more(theirs):
    fetch_from(theirs)
    rows = {row.name: row.remotes for row in show(theirs, "conv-001").branches}
    assert rows == {"main": (RemoteState("origin/main", 1, 1),), "fix": (RemoteState("origin/fix", 0, 0),)}
    push_to(theirs, force=True, drops_unmerged=True)
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


def test_the_source_of_a_conflict_has_one_name_open_and_resolved(ours, theirs):
    decide(ours, "postgres", "carol")
    push_to(ours)
    decide(theirs, "sqlite", "dave")
    fetch_from(theirs)
    merge(theirs, "conv-001", "origin/main", target="main")
    (row,) = list_conflicts(theirs, "conv-001").conflicts
    resolve_conflict(theirs, "conv-001", row.conflict.id, take="target", author=Author("dave", "human"))
    sources = [list_conflicts(theirs, "conv-001", include_all=True).conflicts[0].source]
    continue_merge(theirs, "conv-001")
    sources.append(list_conflicts(theirs, "conv-001", include_all=True).conflicts[0].source)
    assert [row.source, *sources] == ["origin/main"] * 3


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


@pytest.mark.slow
def test_a_conversation_that_is_not_chosen_is_not_merged(ours, theirs):
    history(theirs, "main: x")
    assert pull_from(theirs, "conv-001").branches != ()
    say(ours, "conv-001/main", "more")
    push_to(ours)
    push_to(theirs, "conv-002")
    assert pull_from(theirs, "conv-002").branches == ()


def test_a_received_branch_that_is_named_like_a_message_gets_another_name(ours, bare, tmp_path):
    push_to(ours)
    other = machine(tmp_path / "theirs", bare, "dave")
    fetch_from(other)
    names = [message_id_of(read_commit(ours, list_branch_tips(ours, "conv-001")["fix"])), "refs/heads/fix"]
    for name in names:
        tx = Transaction(other, "conv-001")  # as a changed program does
        tx.create_branch(name, list_branch_tips(other, "conv-001")["main"])
        tx.set_branch_entry(name, BranchEntry())
        tx.commit("branch", "create")
    push_to(other)
    fetch_from(ours)
    received = sorted(list_branch_tips(ours, "conv-001").keys() - {"fix", "main"})
    assert len(received) == 2
    assert all(
        re.fullmatch(f"{name.replace('/', '-')}-[0-9a-f]{{6}}", got)
        for name, got in zip(sorted(names), received, strict=True)
    )
