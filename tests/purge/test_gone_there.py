"""What was deleted on a remote before a purge is accepted here need not be removed there: nobody is asked to do it."""

from __future__ import annotations

import os

import pytest

from scopes.purge.accept import accept_purges, count_unpublished, plan_accept
from scopes.purge.on_remotes import list_copies
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.store.config import read_gone
from scopes.store.refs import GONE_FILE as FILE
from scopes.sync.addresses import parse_address
from scopes.sync.edit_remotes import rename_remote, set_remote_address
from tests.support.history import history, say
from tests.support.recalled import recalled
from tests.support.remotes import add, connection, fetch_from, machine, make_bare, push_to
from tests.support.store import git


@pytest.fixture
@recalled
def drawn(repository, bare):
    """Make two conversations, and push both."""
    add(repository, bare)
    made = history(repository, "main: a b")
    history(repository, "main: x y")
    push_to(repository)
    return made


@pytest.fixture
@recalled
def theirs(drawn, bare, tmp_path):
    """Make another machine that has fetched both, and has a message of its own in the first one."""
    store = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(store)
    say(store, "conv-001/main", "mine alone")
    return store


@pytest.fixture
@recalled
def deleted(repository, drawn, theirs, places):
    """Purge the first one elsewhere, with its copy on the remote."""
    purge(repository, PurgeRequest((drawn.conversation,)), places)
    push_to(repository, purged=True)
    return drawn


@pytest.fixture
def their_places(tmp_path):
    return Places(str(tmp_path / "their-index"))


def delete_there(bare, root):
    """Delete a conversation on the remote; return its ref and value."""
    names = git(bare, "for-each-ref", "--format=%(refname)", "refs/scopes/v1/c").split()
    ref = next(each for each in names if each.endswith(root))
    value = git(bare, "rev-parse", ref).strip()
    git(bare, "update-ref", "-d", ref)
    return ref, value


def remotes_of(result):
    return [(each.remote, each.conversations) for each in result.remotes]


@pytest.mark.slow
def test_who_accepts_after_a_fetch_is_not_sent_to_a_remote_that_has_nothing(deleted, theirs, their_places):
    fetch_from(theirs)
    assert remotes_of(plan_accept(theirs)) == []
    done = accept_purges(theirs, their_places)
    assert (done.conversations, remotes_of(done), done.notes) == (1, [], ())
    assert list_copies(theirs.path) == ()
    assert [row.status for row in push_to(theirs, purged=True).conversations] == []


def test_the_messages_that_nobody_else_has_are_still_counted(deleted, theirs):
    fetch_from(theirs)
    assert count_unpublished(theirs, ["conv-001"]) == 1
    assert plan_accept(theirs).notes[0].text == "1 message of these conversations is on no remote"


def test_the_copy_of_another_remote_is_named_still(drawn, theirs, bare, tmp_path, their_places):
    add(theirs, make_bare(tmp_path / "backup.git"), "backup")
    push_to(theirs, "conv-001", remote="backup")
    delete_there(bare, drawn.root)
    fetch_from(theirs, remote="origin")
    assert remotes_of(purge(theirs, PurgeRequest(("conv-001",)), their_places)) == [("backup", 1)]


def test_a_fetch_of_one_conversation_says_nothing_about_others(deleted, theirs):
    fetch_from(theirs, "conv-002")
    assert read_gone(theirs.path) == {}
    assert remotes_of(plan_accept(theirs)) == [("origin", 1)]


def test_what_is_there_again_must_be_removed_there(repository, drawn, theirs, bare, places, their_places):
    ref, value = delete_there(bare, drawn.root)
    fetch_from(theirs)
    assert read_gone(theirs.path) == {"origin": frozenset({drawn.root})}
    git(bare, "update-ref", ref, value)
    fetch_from(theirs, "conv-001")
    assert read_gone(theirs.path) == {}
    assert remotes_of(purge(theirs, PurgeRequest(("conv-001",)), their_places)) == [("origin", 1)]


def test_what_was_sent_again_must_be_removed_there(drawn, theirs, bare, their_places):
    delete_there(bare, drawn.root)
    fetch_from(theirs)
    push_to(theirs, "conv-001", force=True)
    assert read_gone(theirs.path) == {}
    assert remotes_of(purge(theirs, PurgeRequest(("conv-001",)), their_places)) == [("origin", 1)]


def test_it_is_known_under_the_new_name_of_a_remote_and_not_of_another_address(drawn, theirs, bare, tmp_path):
    delete_there(bare, drawn.root)
    fetch_from(theirs)
    rename_remote(theirs, "origin", "hub")
    assert read_gone(theirs.path) == {"hub": frozenset({drawn.root})}
    other = parse_address(make_bare(tmp_path / "other.git"))
    set_remote_address(theirs, "hub", other, connection(), probe=False)
    assert read_gone(theirs.path) == {}


def test_a_fetch_that_sees_nothing_new_writes_nothing(drawn, theirs, bare):
    delete_there(bare, drawn.root)
    fetch_from(theirs)
    path = os.path.join(theirs.path, FILE)
    before = os.stat(path)
    fetch_from(theirs)
    assert os.stat(path).st_ino == before.st_ino


def test_a_remote_with_something_that_is_not_acceptable_is_not_believed(drawn, theirs, bare):
    ref, value = delete_there(bare, drawn.root)
    git(bare, "update-ref", ref.replace(drawn.root, "1" * 40), value)
    fetch_from(theirs)
    assert read_gone(theirs.path) == {}
