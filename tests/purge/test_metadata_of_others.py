"""A purge of a conversation takes nothing of another one whose metadata name a commit of it: they may come from others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.conversation.branch import tag
from scopes.conversation.new_rename_delete import delete, rename_title
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.history.metadata import read_metadata
from scopes.history.names import conversation_ids
from scopes.history.transaction import Transaction
from scopes.purge.purge import plan_purge, purge
from scopes.purge.selection import PurgeRequest
from scopes.store.transactions import exclusive_write
from scopes.sync.local_conversations import Selection
from scopes.sync.pull import pull
from scopes.sync.remotes import resolve_remote
from tests.support.every_byte import find_word
from tests.support.history import history
from tests.support.remotes import add, connection, machine, make_bare, push_to

FIELDS = ("fork", "extra", "nested", "main")


@pytest.fixture
def purged(repository):
    """The conversation that will be purged, conv-001."""
    return history(repository, "main: a b")


@pytest.fixture
def kept(repository, purged):
    """An innocent one, conv-002."""
    drawn = history(repository, "main: c d", "side@c: e")
    rename_title(repository, drawn.conversation, "Innocent")
    tag(repository, drawn.conversation, "v1")
    return drawn


def change_entry(repository, name, branch, field, oid):
    """Write a branch entry as only a hostile colleague does."""
    entry = read_metadata(repository, name).branches[branch]
    changed = {"fork": {"fork": oid}, "main": {"fork": oid}, "extra": {"extra": {"note": oid}}}
    entry = replace(entry, **changed.get(field, {"extra": {"note": [{"x": f"see {oid}"}], "keep": 1}}))
    with exclusive_write(repository):
        tx = Transaction(repository, name)
        tx.set_branch_entry(branch, entry)
        tx.commit("branch", "edit")


@pytest.mark.parametrize("word", ["root", "b"])
@pytest.mark.parametrize("field", FIELDS)
def test_metadata_that_name_a_commit_of_what_is_purged_stay(repository, purged, kept, places, field, word):
    oid = purged.root if word == "root" else purged.oids[word]
    change_entry(repository, kept.conversation, "main" if field == "main" else "side", field, oid)
    purge(repository, PurgeRequest((purged.conversation,)), places)
    found = read_metadata(repository, kept.conversation)
    assert (found.title, {*found.tags}, {*found.branches}) == ("Innocent", {"v1"}, {"main", "side"})
    assert oid not in repr(found)
    assert "0" * 40 not in repr(found)
    assert found.branches["side"].extra == ({"keep": 1} if field == "nested" else {})
    assert verify(repository).exit_code == 0


@pytest.mark.parametrize("field", ["fork", "extra"])
def test_so_does_what_undo_and_the_trash_have_of_them(repository, purged, kept, places, field):
    change_entry(repository, kept.conversation, "side", field, purged.oids["b"])
    delete(repository, kept.conversation)
    purge(repository, PurgeRequest((purged.conversation,)), places)
    undo(repository, conversation=kept.conversation)
    found = read_metadata(repository, kept.conversation)
    assert (found.title, {*found.tags}, {*found.branches}) == ("Innocent", {"v1"}, {"main", "side"})
    assert verify(repository).exit_code == 0


def test_nothing_of_the_metadata_of_the_purged_one_stays_whatever_led_to_them(repository, purged, kept, places):
    rename_title(repository, purged.conversation, "Nightingale")
    delete(repository, purged.conversation)
    undo(repository)
    rename_title(repository, purged.conversation, "Nightingale again")
    undo(repository)
    purge(repository, PurgeRequest((purged.conversation,)), places)
    assert find_word("Nightingale", repository.path) == []
    assert conversation_ids(repository) == [kept.conversation]


def test_a_tag_of_what_is_purged_goes_and_no_join_brings_it_back(repository, purged, kept, places, tmp_path):
    bare = make_bare(tmp_path / "bare.git")
    add(repository, bare)
    with exclusive_write(repository):
        tx = Transaction(repository, kept.conversation)
        tx.set_tag("v2", purged.oids["b"])
        tx.commit("tag", "edit")
    push_to(repository)
    theirs = machine(tmp_path / "theirs.git", bare, author="dave")
    pull_to(theirs)
    plan = plan_purge(repository, PurgeRequest((purged.conversation,)), places)
    assert "1 tag goes: v2 of conv-002" in [note.text for note in plan.notes]
    purge(repository, PurgeRequest((purged.conversation,)), places)
    assert {*read_metadata(repository, kept.conversation).tags} == {"v1"}
    rename_title(theirs, "conv-002", "Theirs")
    push_to(theirs)
    pull_to(repository)
    found = read_metadata(repository, kept.conversation)
    assert (found.title, {*found.tags}) == ("Theirs", {"v1"})
    assert verify(repository).exit_code == 0


def pull_to(store):
    return pull(store, resolve_remote(store, None), Selection(()), connection())
