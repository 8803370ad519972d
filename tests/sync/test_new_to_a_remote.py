"""A conversation that is new to a remote: what was purged elsewhere, and what became of the remote, is learned first."""

from __future__ import annotations

import shutil

import pytest

from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.sync.bundles import create_bundle, import_bundle
from scopes.sync.local_conversations import Selection
from scopes.sync.push import push
from scopes.sync.remotes import resolve_remote
from tests.support.every_byte import find_word
from tests.support.history import history
from tests.support.remotes import (
    EVERYTHING,
    add,
    clone_to,
    connection,
    fetch_from,
    limited,
    machine,
    make_bare,
    push_to,
)
from tests.support.store import git, open_store

WORD = "Xylophone-Quarantine-4711"
NAME = "conv-001"


def push_known(store, **options):
    return push(store, resolve_remote(store, None), Selection(), connection(), **options)


def purge_all(store, tmp_path, message=None):
    wanted = PurgeRequest(conversation=NAME, messages=(message,)) if message else PurgeRequest(conversations=(NAME,))
    purge(store, wanted, Places(str(tmp_path / "index")))


def old_bundle(store, tmp_path):
    path = str(tmp_path / "old.bundle")
    create_bundle(store, path, EVERYTHING, connection())
    return path


def clean_up(bare):
    git(bare, "gc", "-q", "--prune=now")


def hold_back(pushed):
    (row,) = pushed.conversations
    return row.status, "purged elsewhere" in row.reason, any("held back" in note.text for note in pushed.notes)


def test_a_store_that_never_fetched_does_not_send_what_was_purged(repository, bare, tmp_path):
    add(repository, bare)
    made = history(repository, f"main: a {WORD} b")
    push_to(repository)
    path = old_bundle(repository, tmp_path)
    for message in (made.ids[WORD], None):
        purge_all(open_store(repository), tmp_path, message)
        push_to(open_store(repository), purged=True)
        clean_up(bare)
        theirs = machine(tmp_path / f"theirs-{message}", bare, author="bob")
        import_bundle(theirs, path, EVERYTHING, connection())
        assert hold_back(push_to(open_store(theirs))) == ("refused", True, True)
        assert hold_back(push_to(open_store(theirs), force=True)) == ("refused", True, True)
        assert find_word(WORD, bare) == []


@pytest.mark.slow
def test_it_is_learned_from_every_repository_of_a_remote(repository, bare, tmp_path):
    add(repository, bare)
    history(repository, f"main: {WORD}")
    path = old_bundle(repository, tmp_path)
    push_to(repository)
    purge_all(open_store(repository), tmp_path)
    push_to(open_store(repository), purged=True)
    history(open_store(repository), "main: x", conversation="conv-002")
    history(open_store(repository), "main: y", conversation="conv-003")
    push_to(limited(repository, 1))  # the second one goes to the next repository
    clean_up(bare)
    theirs = machine(tmp_path / "theirs", bare, author="bob")
    import_bundle(theirs, path, EVERYTHING, connection())
    assert hold_back(push_to(open_store(theirs))) == ("refused", True, True)
    assert find_word(WORD, tmp_path / "bare-2.git") == []


@pytest.mark.slow
def test_a_remote_that_was_made_anew_is_noticed_by_a_push_of_something_new(ours, bare):
    push_to(ours)
    shutil.rmtree(bare)
    make_bare(bare)
    history(ours, "main: x", conversation="conv-002")
    done = push_to(ours, "conv-002")
    assert [row.status for row in done.conversations] == ["new"]
    assert "was emptied or recreated" in done.notes[0].text
    again = push_known(open_store(ours))
    assert [(row.conversation, row.status) for row in again.conversations] == [(NAME, "refused")]
    assert again.exit_code == 1
    assert "push --delete" not in again.conversations[0].reason
    assert again.notes[0].hint == "if nobody has deleted them on purpose, send all of them again: scopes push --force"
    assert [row.status for row in push_known(open_store(ours), force=True).conversations] == ["new"]
    assert not push_known(open_store(ours)).notes


@pytest.mark.slow
def test_a_remote_whose_only_conversation_was_purged_was_not_emptied(repository, bare, tmp_path):
    add(repository, bare)
    history(repository, f"main: {WORD}")
    push_to(repository)
    clone_to(tmp_path / "theirs", bare)
    purge_all(open_store(repository), tmp_path)
    push_to(open_store(repository), purged=True)
    theirs = open_store(tmp_path / "theirs")
    fetched = fetch_from(theirs)
    assert [note.text for note in fetched.notes] == ["1 conversation was purged elsewhere, and not here"]
    assert hold_back(push_known(open_store(theirs))) == ("refused", True, True)
    assert "emptied" not in str(push_known(open_store(theirs)))
