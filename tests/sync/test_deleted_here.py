"""What a fetch says of a conversation that was deleted here and goes on elsewhere."""

from __future__ import annotations

import shlex

import pytest

from scopes.conversation.append import append
from scopes.conversation.new_rename_delete import delete, new
from scopes.conversation.store import gc
from scopes.conversation.undo import undo
from scopes.history.messages import plain_message
from scopes.history.names import list_branch_tips
from scopes.model.message import Author
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.sync.format_check import PurgedHere
from scopes.sync.local_conversations import Selection, name_of_conversation
from scopes.sync.pull import pull
from scopes.sync.remotes import resolve_remote
from tests.support.recalled import recalled
from tests.support.remotes import add, connection, fetch_from, machine, push_to


@pytest.fixture
@recalled
def other(ours, bare, tmp_path):
    """Another store with the conversation."""
    push_to(ours)
    store = machine(tmp_path / "other", bare, "ben")
    fetch_from(store)
    return store


def root_of(store):
    return name_of_conversation(store, "conv-001").root


def add_message(ours):
    append(ours, "conv-001", plain_message(Author("carol", "human"), "more"))
    push_to(ours)


def test_what_was_deleted_here_and_goes_on_elsewhere_can_be_had_by_what_the_note_says(ours, other):
    delete(other, "conv-001")
    add_message(ours)
    [note] = fetch_from(other).notes
    assert note.text == "conv-001 (a) was deleted here, and has changed on origin"
    first, second = (shlex.split(part) for part in note.hint.removeprefix("have it again: ").split(", then: "))
    assert (first[:2], second) == (["scopes", "undo"], ["scopes", "pull", "conv-001"])
    undo(other, first[2])
    pull(other, resolve_remote(other, None), Selection(("conv-001",)), connection())
    assert list_branch_tips(other, "conv-001") == list_branch_tips(ours, "conv-001")
    assert fetch_from(other).notes == ()


def test_what_is_no_longer_in_the_trash_comes_from_the_remote_if_it_is_named(ours, other):
    delete(other, "conv-001")
    gc(other, expire_before="2099-01-01")
    add_message(ours)
    [note] = fetch_from(other).notes
    assert "is no longer in the trash" in note.text
    root = root_of(ours)
    assert note.hint == f"have it again: scopes fetch {root[:12]}"
    assert fetch_from(other).notes == ()  # nobody has undone anything
    [row] = fetch_from(other, root[:12]).conversations
    assert (row.status, row.conversation) == ("new", "conv-001")
    assert list_branch_tips(other, "conv-001") == list_branch_tips(ours, "conv-001")


def test_what_is_in_the_trash_and_named_says_how_to_have_it_even_if_nothing_is_new(ours, other):
    delete(other, "conv-001")
    assert fetch_from(other).notes == ()
    [note] = fetch_from(other, root_of(ours)[:12]).notes
    assert note.text == "conv-001 (a) was deleted here"
    undo(other, note.hint.removeprefix("have it again: scopes undo "))
    assert list_branch_tips(other, "conv-001") == list_branch_tips(ours, "conv-001")


@pytest.fixture
@recalled
def undone(repository, bare):
    """A store in which the creation of a pushed conversation was undone, and its number was given again."""
    add(repository, bare)
    new(repository, title="Release plan")
    append(repository, "conv-001", plain_message(Author("carol", "human"), "first"))
    root, tips = root_of(repository), list_branch_tips(repository, "conv-001")
    push_to(repository)
    undo(repository)
    undo(repository)
    assert new(repository, title="Plan two").id == "conv-001"
    return repository, root, tips


def test_a_fetch_says_that_a_remote_has_what_was_undone_here(undone):
    store, root, _ = undone
    [note] = fetch_from(store).notes
    assert note.text == "1 conversation whose creation was undone here is on origin"
    assert note.hint == f"have it again: scopes fetch {root[:12]}"
    assert fetch_from(store).operation is None


def test_what_was_undone_here_comes_back_under_a_new_number_if_it_is_named(undone):
    store, root, tips = undone
    [row] = fetch_from(store, root[:12]).conversations
    assert (row.status, row.conversation, row.title) == ("new", "conv-002", "Release plan")
    assert list_branch_tips(store, "conv-002") == tips
    assert fetch_from(store).notes == ()
    assert push_to(store, "conv-002").unchanged == 1


def test_what_was_purged_here_does_not_come_back_by_its_name(ours, other, tmp_path):
    root = root_of(ours)
    purge(other, PurgeRequest(("conv-001",)), Places(str(tmp_path / "index")))
    with pytest.raises(PurgedHere):
        fetch_from(other, root[:12])
