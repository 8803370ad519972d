"""Purge reaches original files: here, on the remote, and on machines that have fetched them, over every inflated byte."""

from __future__ import annotations

import pytest

from scopes.errors import Refused
from scopes.importers.import_sources import import_sources
from scopes.purge.accept import accept_purges
from scopes.purge.on_remotes import list_copies
from scopes.purge.purge import Places, plan_purge, purge
from scopes.purge.selection import PurgeRequest
from scopes.store.refs import FETCHED_SOURCES, REMOTE_SOURCES
from scopes.sync.purge_notes import OfferGate
from tests.importers.test_import_source import Several, write_several
from tests.support.every_byte import find_word
from tests.support.original_files import CREATED, exported, files_there, find_message, import_session, keys_of
from tests.support.remotes import add, fetch_from, machine, push_to
from tests.support.store import assert_sound, git

WORD = "Xylophone-Quarantine-4711"


@pytest.fixture
def places(tmp_path):
    return Places(str(tmp_path / "index"))


@pytest.fixture
def alice(repository, bare, tmp_path):
    """A store with an imported session with a word, which knows the remote."""
    add(repository, bare)
    import_word(repository, tmp_path, {"id": "d", "parent": "w", "by": "user", "say": "thanks", "time": CREATED})
    return repository


def import_word(store, tmp_path, *more):
    """Import a session in which a message has the word, and a record that is no message repeats it."""
    message = {"id": "w", "parent": "b", "by": "bot", "say": WORD, "time": CREATED}
    import_session(store, tmp_path / "session.jsonl", "a b", more=({"echo": WORD}, message, *more))


@pytest.fixture
def bob(alice, bare, tmp_path):
    """Another machine, which has the conversation with its original files."""
    push_to(alice, with_sources=True)
    store = machine(tmp_path / "bob", bare, "bob")
    fetch_from(store)
    return store


def purge_word(store, places):
    return purge(store, request_of(store), places)


def request_of(store):
    return PurgeRequest(conversation="conv-001", messages=(find_message(store, WORD),))


def purge_all(store, places):
    return purge(store, PurgeRequest(conversations=("conv-001",)), places)


def clean(bare):
    """Do what a server does to remove what nobody refers to."""
    git(bare, "reflog", "expire", "--expire=now", "--all")
    git(bare, "gc", "-q", "--prune=now")


def test_nothing_is_left_where_it_was_imported_and_pushed(alice, bob, places):
    done = purge_word(alice, places)
    assert (done.left, done.messages) == ((), 1)
    assert find_word(WORD, alice.path) == []
    assert [copy.conversations for copy in done.remotes] == [1]
    assert_sound(alice)


def test_nothing_is_left_where_it_was_fetched(bob, places):
    done = purge_word(bob, places)
    assert done.left == ()
    assert find_word(WORD, bob.path) == []
    assert keys_of(bob, next(iter(bob.list_refs(FETCHED_SOURCES)))) == ["s1"]
    with pytest.raises(Refused, match="parts of s1 were purged"):
        exported(bob)


@pytest.mark.cases(1)
@pytest.mark.parametrize("options", [{}, {"with_sources": True}], ids=["push", "with sources"])
def test_the_next_push_replaces_them_on_the_remote(alice, bob, bare, places, options):
    purge_word(alice, places)
    pushed = push_to(alice, **options)
    assert [(row.status, row.files) for row in pushed.sources] == [("updated", 1)]
    clean(bare)
    assert find_word(WORD, bare) == []
    assert len(files_there(bare)) == 1
    assert list_copies(alice.path) == ()


def test_who_accepts_the_purge_has_nothing_left_and_takes_the_new_files(alice, bob, bare, places, tmp_path):
    purge_word(alice, places)
    push_to(alice)
    fetch_from(bob)
    accept_purges(bob, Places(str(tmp_path / "other")))
    assert find_word(WORD, bob.path) == []
    fetch_from(bob)
    assert find_word(WORD, bob.path) == []
    assert bob.find_ref(next(iter(bob.list_refs(REMOTE_SOURCES)))) in git(bare, "for-each-ref")
    assert push_to(bob, with_sources=True).exit_code == 0
    clean(bare)
    assert find_word(WORD, bare) == []


def test_of_a_purged_conversation_no_file_is_left(alice, bob, bare, places):
    purge_all(alice, places)
    assert find_word(WORD, alice.path) == []
    assert alice.list_refs(REMOTE_SOURCES) == {}
    push_to_purged(alice)
    assert files_there(bare) == []
    clean(bare)
    assert find_word(WORD, bare) == []


def push_to_purged(store):
    from scopes.sync.local_conversations import Selection
    from scopes.sync.push import push
    from scopes.sync.remotes import resolve_remote
    from tests.support.remotes import connection

    return push(store, resolve_remote(store, None), Selection(), connection(), purged=True)


def test_a_purged_conversation_is_deleted_on_the_remote_as_one(alice, bob, places):
    purge_all(alice, places)
    pushed = push_to_purged(alice)
    assert [note.text for note in pushed.notes if "purged conversation" in note.text] == [
        f"1 purged conversation was deleted on the remote: {pushed.purged[0][:12]}"
    ]


def test_the_plan_counts_a_conversation_with_its_files_once(alice, bob, places):
    plan = plan_purge(alice, request_of(alice), places)
    assert [copy.conversations for copy in plan.remotes] == [1]


def test_other_files_of_a_conversation_stay(repository, bare, places, tmp_path):
    """A file of several conversations goes with one of them, not the files beside it."""
    add(repository, bare)
    import_sources(repository, [write_several(tmp_path, "p q", "x y z")], (Several(),))
    import_session(repository, tmp_path / "part.jsonl", "h i", session="s0", part="helper")
    push_to(repository, with_sources=True)
    bob = machine(tmp_path / "bob", bare)
    fetch_from(bob)
    (both,) = [each for each in ("conv-001", "conv-002") if len(exported(bob, each)) == 2]
    other = ({"conv-001", "conv-002"} - {both}).pop()
    purge(bob, PurgeRequest(conversations=(other,)), places)
    assert [*exported(bob, both)] == ["s0/helper"]
    assert_sound(bob)


def test_a_file_with_what_others_have_purged_waits_for_the_decision(alice, bare, tmp_path, places, monkeypatch):
    """An import brings the file back after the purge, also where the conversation itself may be sent."""
    purge_word(alice, places)
    push_to(alice)
    carol = machine(tmp_path / "carol", bare, "carol")
    fetch_from(carol)
    import_word(carol, tmp_path)
    monkeypatch.setattr(OfferGate, "find_refusal", lambda *_: None)
    done = push_to(carol, with_sources=True)
    assert [(row.status, "purged elsewhere" in (row.reason or "")) for row in done.sources] == [("refused", True)]
    accept_purges(carol, Places(str(tmp_path / "their index")))
    push_to(carol, with_sources=True)
    git(bare, "reflog", "expire", "--expire=now", "--all")
    git(bare, "gc", "-q", "--prune=now")
    assert find_word(WORD, bare) == []
