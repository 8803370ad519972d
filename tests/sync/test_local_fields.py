"""What is of one machine in the metadata does not leave it, and is not lost when something comes from elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.conversation.branch import branch, tag
from scopes.conversation.merge import MergeConflicted, merge
from scopes.conversation.new_rename_delete import rename_branch, rename_title
from scopes.errors import NotFound
from scopes.history.metadata import read_metadata, read_metadata_at
from scopes.history.names import list_branch_tips, read_active_branch
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, Oid
from scopes.merge.in_progress import list_in_progress
from scopes.model.conversation import ACP, WAITING, BranchEntry
from scopes.store.objects import read_commit
from scopes.store.refs import meta_ref
from scopes.store.transactions import exclusive_write
from scopes.sync.join import receive_metadata
from scopes.sync.local_fields import add_local_fields, follow_renames, split_entry
from tests.support.decisions import decide
from tests.support.history import say
from tests.support.recalled import recalled
from tests.support.remotes import fetch_from, machine, push_to
from tests.support.store import assert_sound, git

SESSION = {"agent": "claude-code-acp", "session": "s-1", "cwd": "/home/carol/secret-shop"}
ELSEWHERE = {"agent": "claude-code-acp", "session": "s-1"}
WAITS = {"kind": "merge", "target": "main", "source": "fix", "before": "fix", "stopped": "0" * 40}


@pytest.fixture
@recalled
def theirs(ours, bare, tmp_path):
    """Another machine, which has what was pushed."""
    push_to(ours)
    other = machine(tmp_path / "theirs", bare, "dave")
    fetch_from(other)
    return other


@pytest.fixture
@recalled
def stopped(ours, theirs):
    """A merge of ours has stopped on a conflict."""
    decide(ours, "conv-001/main", "jwt")
    decide(ours, "conv-001/fix", "sessions", author="dave")
    assert isinstance(merge(ours, "conv-001", "fix", target="main"), MergeConflicted)
    return ours


def entry_of(store, name):
    return read_metadata(store, "conv-001").branches[BranchName(name)]


def record_session(store, name, session):
    """Note in the entry of a branch that an agent continues it."""
    with exclusive_write(store):
        tx = Transaction(store, "conv-001")
        entry = entry_of(store, name)
        tx.set_branch_entry(BranchName(name), replace(entry, extra={**entry.extra, ACP: session}))
        tx.commit("acp", "note the session")


def everything_of(bare):
    return git(bare, "cat-file", "--batch-all-objects", "--batch")


def test_the_directory_of_a_session_does_not_leave(ours, theirs, bare):
    record_session(ours, "main", SESSION)
    push_to(ours)
    fetch_from(theirs)
    assert entry_of(theirs, "main").extra[ACP] == ELSEWHERE
    assert entry_of(ours, "main").extra[ACP] == SESSION
    assert "secret-shop" not in everything_of(bare)


def test_the_directory_of_a_session_stays_when_something_comes_from_elsewhere(ours, theirs):
    record_session(ours, "main", SESSION)
    push_to(ours)
    fetch_from(theirs)
    rename_title(theirs, "conv-001", "Login")
    rename_branch(theirs, "conv-001", "fix", "repair")
    push_to(theirs)
    fetch_from(ours)
    assert read_metadata(ours, "conv-001").title == "Login"
    assert entry_of(ours, "main").extra[ACP] == SESSION
    assert push_to(ours).unchanged == 1


def test_the_directory_of_another_session_is_not_taken_for_this_one(ours, theirs):
    record_session(ours, "main", SESSION)
    push_to(ours)
    fetch_from(theirs)
    record_session(theirs, "main", {**SESSION, "session": "s-2", "cwd": "/home/dave/shop"})
    push_to(theirs)
    fetch_from(ours)
    assert entry_of(ours, "main").extra[ACP] == {"agent": "claude-code-acp", "session": "s-2"}


def test_an_unfinished_merge_does_not_leave(stopped, theirs, bare):
    push_to(stopped)
    fetch_from(theirs)
    name = read_active_branch(stopped, "conv-001")
    assert WAITING in entry_of(stopped, name).extra
    assert name not in read_metadata(theirs, "conv-001").branches
    assert name not in list_branch_tips(theirs, "conv-001")
    assert list_in_progress(theirs, "conv-001") == []
    assert '"waiting"' not in everything_of(bare)


@pytest.mark.slow
def test_an_unfinished_merge_goes_on_after_a_fetch(stopped, theirs):
    push_to(stopped)
    fetch_from(theirs)
    rename_title(theirs, "conv-001", "Login")
    tag(theirs, "conv-001", "v1", "main")
    say(theirs, "conv-001/fix", "more")
    push_to(theirs)
    fetch_from(stopped)
    (found,) = list_in_progress(stopped, "conv-001")
    assert (found.kind, found.source, found.target) == ("merge", "fix", "main")
    assert read_metadata(stopped, "conv-001").title == "Login"
    assert_sound(stopped)
    assert push_to(stopped).unchanged == 1


@pytest.mark.slow
def test_an_unfinished_merge_follows_a_branch_that_is_renamed_elsewhere(stopped, theirs):
    push_to(stopped)
    fetch_from(theirs)
    rename_branch(theirs, "conv-001", "fix", "repair")
    push_to(theirs)
    fetch_from(stopped)
    (found,) = list_in_progress(stopped, "conv-001")
    assert (found.source, found.target) == ("repair", "main")


def test_an_unfinished_merge_of_a_remote_is_not_taken(stopped):
    """Only forgers send one."""
    name = read_active_branch(stopped, "conv-001")
    sent = read_commit(stopped, Oid(stopped.find_ref(meta_ref("conv-001")))).tree
    assert '"waiting"' in git(stopped, "grep", "waiting", sent)
    taken = read_metadata_at(stopped, receive_metadata(stopped, None, sent, 0, ()).commit)
    assert taken.branches[name].extra == {}
    assert taken.directory is None


def test_what_is_split_is_put_together_again():
    entry = BranchEntry(extra={WAITING: WAITS, ACP: SESSION, "later": 1})
    shared, local = split_entry(entry)
    assert shared.extra == {ACP: ELSEWHERE, "later": 1}
    assert local == {WAITING: WAITS, ACP: SESSION}
    assert add_local_fields(shared, local) == entry


def test_an_entry_without_local_fields_is_left_alone():
    entry = BranchEntry(purpose="analysis", extra={ACP: ELSEWHERE, "later": [1]})
    shared, local = split_entry(entry)
    assert shared is entry
    assert local == {}


def test_names_in_an_unfinished_merge_are_followed():
    followed = follow_renames({WAITING: WAITS, ACP: SESSION}, {BranchName("fix"): BranchName("repair")})
    assert followed == {WAITING: {**WAITS, "source": "repair", "before": "repair"}, ACP: SESSION}


@pytest.mark.slow
def test_two_branches_whose_names_were_exchanged_elsewhere_are_exchanged_here(ours, theirs):
    branch(ours, "conv-001", name="idea")
    say(ours, "conv-001/idea", "an idea")
    push_to(ours)
    fetch_from(theirs)
    for old, new in (("fix", "x"), ("idea", "fix"), ("x", "idea")):
        rename_branch(ours, "conv-001", old, new)
    say(ours, "conv-001/fix", "more of it")
    push_to(ours)
    fetch_from(theirs)
    assert list_branch_tips(theirs, "conv-001") == list_branch_tips(ours, "conv-001")
    assert_sound(theirs)
    assert push_to(theirs).unchanged == 1


@pytest.mark.parametrize("new", ["fix/more", "fixed", "a/b/c"])
def test_a_branch_is_renamed_into_a_directory_of_its_name(ours, theirs, new):
    rename_branch(ours, "conv-001", "fix", "step")
    rename_branch(ours, "conv-001", "step", new)
    push_to(ours)
    fetch_from(theirs)
    assert list_branch_tips(theirs, "conv-001") == list_branch_tips(ours, "conv-001")
    assert_sound(theirs)


def test_a_renamed_branch_that_is_unknown_here_has_its_new_name(ours, theirs):
    branch(ours, "conv-001", name="idea")
    rename_branch(ours, "conv-001", "idea", "plan")
    push_to(ours)
    fetch_from(theirs)
    assert "plan" in list_branch_tips(theirs, "conv-001")
    with pytest.raises(NotFound):
        say(theirs, "conv-001/idea", "x")
