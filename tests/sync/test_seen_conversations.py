"""`list --remote` in a store that pushes and fetches: what it has sent and got is known without asking for a list."""

from __future__ import annotations

import pytest

from scopes.conversation.new_rename_delete import rename_title
from scopes.history.names import find_root_commit
from scopes.store.projects import read_project
from scopes.store.refs import REMOTES
from scopes.sync.fetch_manifests import fetch_manifests
from scopes.sync.local_conversations import Selection
from scopes.sync.remote_conversations import list_remote, search_titles
from scopes.sync.remotes import resolve_remote
from tests.support.history import history, say, session_in
from tests.support.recalled import recalled
from tests.support.remotes import EVERYTHING, connection, fetch_from, machine, push_to
from tests.support.store import git


@pytest.fixture
def index(tmp_path):
    return str(tmp_path / "index")


@pytest.fixture
@recalled
def pushed(ours):
    """Two conversations on the remote, the second one with a title."""
    history(ours, "main: x y z")
    rename_title(ours, "conv-002", "Pay by card")
    push_to(ours)
    return ours


def ask(store, index):
    fetch_manifests(store, resolve_remote(store, None), EVERYTHING, connection(), index)


def listed(store, index):
    """Return what the list of the only remote has: the ids here, with the numbers of messages."""
    rows = list_remote(store, [resolve_remote(store, None)], index).conversations
    return sorted((row.conversation, row.messages) for row in rows)


def delete_there(bare, root):
    names = git(bare, "for-each-ref", "--format=%(refname)", "refs/scopes/v1/c").split()
    git(bare, "update-ref", "-d", next(each for each in names if each.endswith(root)))


def test_a_store_that_pushed_knows_what_the_remote_has(pushed, index):
    result = list_remote(pushed, [resolve_remote(pushed, None)], index)
    by_name = {row.conversation: (row.title, row.branches, row.messages) for row in result.conversations}
    assert by_name["conv-002"] == ("Pay by card", 1, 3)
    assert len(by_name) == 2
    assert [row.conversation for row in search_titles(pushed, "origin", ["card"], index).conversations] == ["conv-002"]


def test_it_is_the_same_as_the_answer_of_the_remote(pushed, index):
    before = list_remote(pushed, [resolve_remote(pushed, None)], index)
    ask(pushed, index)
    after = list_remote(pushed, [resolve_remote(pushed, None)], index)
    assert before.conversations == after.conversations
    assert [*before.seen] == [*after.seen] == ["origin"]


def test_a_store_that_fetched_knows_it_too(pushed, bare, tmp_path, index):
    other = machine(tmp_path / "other", bare, "dave")
    fetch_from(other)
    assert [name for name, _ in listed(other, index)] == ["conv-001", "conv-002"]


def test_what_was_pushed_after_the_remote_was_asked_is_in_the_list(pushed, index):
    ask(pushed, index)
    say(pushed, "conv-002/main", "news")
    made = history(pushed, "main: p").conversation
    push_to(pushed)
    assert listed(pushed, index)[1:] == [("conv-002", 4), (made, 1)]


@pytest.mark.slow
def test_a_newer_answer_of_the_remote_replaces_what_was_seen_here(pushed, bare, tmp_path, index):
    other = machine(tmp_path / "other", bare, "dave")
    fetch_from(other)
    say(other, "conv-002/main", "theirs")
    push_to(other)
    ask(pushed, index)
    assert ("conv-002", 4) in listed(pushed, index)


def test_what_the_remote_has_no_more_is_not_listed_whether_it_was_asked_or_fetched(pushed, bare, tmp_path, index):
    other = machine(tmp_path / "other", bare, "dave")
    fetch_from(other)
    delete_there(bare, find_root_commit(pushed, "conv-001"))
    ask(pushed, index)
    fetch_from(other)
    assert [name for name, _ in listed(pushed, index)] == ["conv-002"]
    assert [name for name, _ in listed(other, str(tmp_path / "none"))] == ["conv-002"]


@pytest.mark.slow
def test_a_list_of_one_project_does_not_hide_what_was_pushed_of_another_one(pushed, index):
    session_in(pushed, 7, "/home/carol/shop")
    push_to(pushed, "conv-007")
    ask(pushed, index)
    say(pushed, "conv-002/main", "news")
    push_to(pushed, "conv-002")
    chosen = Selection(project=read_project("shop", "/"))
    fetch_manifests(pushed, resolve_remote(pushed, None), chosen, connection(), index)
    assert ("conv-002", 4) in listed(pushed, index)


def test_a_manifest_that_cannot_be_read_is_left_out(pushed, index):
    root = find_root_commit(pushed, "conv-001")
    git(pushed.path, "update-ref", f"{REMOTES}origin/{root}", root)
    assert [name for name, _ in listed(pushed, index)] == ["conv-002"]
