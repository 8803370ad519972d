"""A bundle carries what was purged as a push does: the list goes with it, and what was purged elsewhere stays behind."""

from __future__ import annotations

import pytest

from scopes.conversation.undo import undo
from scopes.purge.accept import accept_purges
from scopes.purge.decline import decline_purges
from scopes.purge.offers import list_offers
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.store.machine import find_machine_id
from scopes.sync.bundles import create_bundle, import_bundle, verify_bundle
from scopes.sync.local_conversations import Selection
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.random_ids import spread_ids  # noqa: F401 - messages have different ids
from tests.support.remotes import EVERYTHING, connection
from tests.support.store import make_store, open_store

WORD = "Xylophone-Quarantine-4711"


@pytest.fixture
def places(tmp_path):
    return Places(str(tmp_path / "index"))


@pytest.fixture
def drawn(repository):
    made = history(repository, f"main: a {WORD} b")
    history(repository, "main: x y")
    return made


@pytest.fixture
def theirs(repository, drawn, tmp_path):
    """Make another store that has both conversations out of a bundle."""
    carry(repository, "first", tmp_path)
    make_store(tmp_path / "theirs.git")
    store = open_store(tmp_path / "theirs.git")
    carry_in(store, "first", tmp_path)
    return store


def carry(store, name, tmp_path, *conversations):
    """Write a bundle, by default of everything."""
    chosen = Selection(conversations) if conversations else EVERYTHING
    return create_bundle(store, str(tmp_path / f"{name}.bundle"), chosen, connection(), force=True)


def carry_in(store, name, tmp_path):
    return import_bundle(store, str(tmp_path / f"{name}.bundle"), Selection(()), connection())


def purge_word(store, drawn, places):
    return purge(store, PurgeRequest(conversation=drawn.conversation, messages=(drawn.ids[WORD],)), places)


def reasons(done):
    return {row.conversation: row.reason for row in done.conversations if row.status == "refused"}


def test_a_bundle_offers_what_was_purged_where_it_was_written(repository, drawn, theirs, places, tmp_path):
    purge_word(repository, drawn, places)
    carry(repository, "second", tmp_path, "conv-002")
    assert "1 message was purged elsewhere" in carry_in(theirs, "second", tmp_path).notes[-1].text
    (offer,) = list_offers(theirs)
    assert (offer.remote, offer.machine) == ("bundle", find_machine_id(repository))
    assert accept_purges(theirs, Places(str(tmp_path / "other"))).messages == 1
    assert find_word(WORD, theirs.path) == []


def test_a_bundle_with_a_list_has_nothing_else_new(repository, drawn, places, tmp_path):
    purge_word(repository, drawn, places)
    done = carry(repository, "second", tmp_path)
    assert [row.status for row in done.conversations] == ["included", "included"]
    assert find_word(WORD, tmp_path / "second.bundle") == []
    make_store(tmp_path / "third.git")
    checked = verify_bundle(open_store(tmp_path / "third.git"), str(tmp_path / "second.bundle"), connection())
    assert [row.status for row in checked.conversations] == ["new", "new"]


def test_what_was_purged_elsewhere_is_not_carried_on(repository, drawn, theirs, places, tmp_path):
    purge_word(repository, drawn, places)
    carry(repository, "second", tmp_path)
    carry_in(theirs, "second", tmp_path)
    done = carry(theirs, "third", tmp_path)
    assert list(reasons(done)) == [one_with_word(theirs)]
    assert "purge --decline" in next(iter(reasons(done).values()))
    assert done.exit_code == 1
    assert ["was held back" in note.text for note in done.notes] == [True]
    assert find_word(WORD, tmp_path / "third.bundle") == []


def one_with_word(store):
    return next(name for name in ("conv-001", "conv-002") if WORD in texts(store, f"{name}/main"))


def test_what_was_declined_is_carried_on(repository, drawn, theirs, places, tmp_path):
    purge_word(repository, drawn, places)
    carry(repository, "second", tmp_path)
    carry_in(theirs, "second", tmp_path)
    decline_purges(theirs)
    assert reasons(carry(theirs, "third", tmp_path)) == {}


def test_what_began_here_is_carried_with_a_note(repository, drawn, theirs, places, tmp_path):
    own = one_with_word(theirs)
    purge(theirs, PurgeRequest(conversations=(own,)), places)
    carry(theirs, "second", tmp_path)
    carry_in(repository, "second", tmp_path)
    say(repository, drawn.conversation, "my own news")
    done = carry(repository, "third", tmp_path)
    assert reasons(done) == {}
    assert "began here" in done.notes[-1].text


def test_undo_takes_the_list_of_a_bundle_back_and_the_next_import_brings_it(
    repository, drawn, theirs, places, tmp_path
):
    purge_word(repository, drawn, places)
    carry(repository, "second", tmp_path)
    carry_in(theirs, "second", tmp_path)
    undo(theirs)
    assert list_offers(theirs) == []
    assert carry_in(theirs, "second", tmp_path).notes[-1].text.startswith("1 message was purged")


def test_a_store_where_nothing_was_purged_offers_nothing(repository, drawn, theirs):
    assert list_offers(theirs) == []
    assert find_machine_id(repository) is None
