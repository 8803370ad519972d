"""What a fetch says of a conversation that was deleted here and goes on elsewhere."""

from __future__ import annotations

import shlex

import pytest

from scopes.conversation.append import append
from scopes.conversation.delete import delete
from scopes.conversation.gc import gc
from scopes.conversation.undo import undo
from scopes.history.messages import plain_message
from scopes.history.revisions import list_branch_tips
from scopes.model.message import Author
from scopes.sync.local_conversations import Selection
from scopes.sync.pull import pull
from scopes.sync.remotes import resolve_remote
from tests.support.remotes import connection, fetch_from, machine, push_to


@pytest.fixture
def other(ours, bare, tmp_path):
    """Another store with the conversation."""
    push_to(ours)
    store = machine(tmp_path / "other", bare, "ben")
    fetch_from(store)
    return store


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


def test_what_is_no_longer_in_the_trash_has_another_cure(ours, other):
    delete(other, "conv-001")
    gc(other, expire_before="2099-01-01")
    add_message(ours)
    [note] = fetch_from(other).notes
    assert "is no longer in the trash" in note.text
    assert "clone" in note.hint
