"""A bundle carries what was purged as a push does: the list goes with it, and what was purged elsewhere stays behind."""

from __future__ import annotations

import os

import pytest

from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.errors import Busy, Corrupt, Inaccessible, NotFound
from scopes.exporters import atomic_save
from scopes.purge.accept import accept_purges
from scopes.purge.decline import decline_purges
from scopes.purge.offers import list_offers
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.store.config import Setting, find_machine_id
from scopes.sync import bundles
from scopes.sync.bundles import create_bundle, import_bundle, verify_bundle
from scopes.sync.local_conversations import Selection
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.random_ids import spread_ids  # noqa: F401 - messages have different ids
from tests.support.recalled import recalled
from tests.support.remotes import EVERYTHING, add, connection, fetch_from, make_bare, push_to
from tests.support.store import FAST, make_store, open_store

WORD = "Xylophone-Quarantine-4711"


@pytest.fixture
def places(tmp_path):
    return Places(str(tmp_path / "index"))


@pytest.fixture
@recalled
def drawn(repository):
    made = history(repository, f"main: a {WORD} b")
    history(repository, "main: x y")
    return made


@pytest.fixture
@recalled
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
    assert (offer.remote, offer.machine) == ("bundle", find_machine_id(repository.config))
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
    assert find_machine_id(repository.config) is None


def refusal_of(store, name, tmp_path):
    """Return why nothing of a bundle is taken."""
    with pytest.raises(Corrupt) as error:
        carry_in(store, name, tmp_path)
    return error.value


def test_nothing_that_was_purged_comes_with_an_old_bundle_which_says_what_to_do(repository, drawn, places, tmp_path):
    carry(repository, "old", tmp_path)
    purge_word(repository, drawn, places)
    (row,) = carry_in(repository, "old", tmp_path).conversations
    assert (row.conversation, row.status) == (drawn.conversation, "unacceptable")
    assert f"message {drawn.ids[WORD][:8]} in it was purged here; the bundle is older, or from somebody" in row.reason
    assert "scopes push origin" not in row.reason
    (found,) = (
        each
        for each in verify_bundle(repository, str(tmp_path / "old.bundle"), connection()).conversations
        if each.status == "unacceptable"
    )
    assert found.reason == row.reason
    assert find_word(WORD, repository.path) == []


def test_an_old_bundle_names_each_conversation_that_was_purged(repository, drawn, places, tmp_path):
    carry(repository, "old", tmp_path)
    roots = {row.root[:12] for row in carry(repository, "old", tmp_path).conversations}
    purge(repository, PurgeRequest(("conv-001",)), places)
    purge(repository, PurgeRequest(("conv-002",)), places)
    error = refusal_of(repository, "old", tmp_path)
    assert {root for root in roots if root in error.message} == roots
    assert "was purged here; the bundle is older" in error.message
    assert "1 more conversation is not acceptable" in error.message
    assert error.hint == "nothing of it was taken; see who wrote the file"


@pytest.mark.slow
def test_what_else_an_old_bundle_has_comes_by_way_of_another_store(repository, drawn, theirs, places, tmp_path):
    own = one_with_word(theirs)
    say(theirs, own, "news")
    carry(theirs, "old", tmp_path)
    purge_word(repository, drawn, places)
    (row,) = carry_in(repository, "old", tmp_path).conversations
    assert row.status == "unacceptable"
    make_store(tmp_path / "other.git")
    other = open_store(tmp_path / "other.git")
    carry_in(other, "old", tmp_path)
    wanted = PurgeRequest(conversation=one_with_word(other), messages=(drawn.ids[WORD],))
    purge(other, wanted, Places(str(tmp_path / "other-index")))
    carry(other, "new", tmp_path)
    assert carry_in(repository, "new", tmp_path).exit_code == 0
    assert texts(repository, f"{drawn.conversation}/main") == ["a", "[purged]", "b", "news"]
    assert find_word(WORD, repository.path) == []


def test_a_store_made_of_a_bundle_reads_the_same_of_an_old_one(repository, drawn, places, tmp_path):
    carry(repository, "old", tmp_path)
    add(repository, str(tmp_path / "old.bundle"), "file")
    purge_word(repository, drawn, places)
    (row,) = fetch_from(repository, remote="file").conversations
    assert (row.status, "the bundle is older" in row.reason) == ("unacceptable", True)


def test_a_remote_that_is_not_the_default_is_named_in_what_to_do(repository, drawn, places, bare, tmp_path):
    add(repository, bare)
    add(repository, make_bare(tmp_path / "second.git"), "second")
    push_to(repository, remote="second")
    purge_word(repository, drawn, places)
    (row,) = fetch_from(repository, remote="second").conversations
    assert row.reason.endswith("replace it there: scopes push --purged second")


def act(monkeypatch, name, how, times=1):
    """Act `times` times before or after a step of `bundle create`."""
    step, left = getattr(bundles, name), [None] * times

    def wrapped(*words):
        if how[0] == "before" and left:
            left.pop()
            how[1]()
        found = step(*words)
        if how[0] == "after" and left:
            left.pop()
            how[1]()
        return found

    monkeypatch.setattr(bundles, name, wrapped)


@pytest.mark.parametrize("step", ["_run_git", "_read_pieces"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.every_case("a purge meets objects that git has not read, a bundle that is made, and one that is copied")
def test_a_bundle_has_nothing_that_was_purged_while_it_was_written(
    repository, drawn, places, tmp_path, monkeypatch, step, when
):
    def purge_it():
        purge_word(open_store(repository), drawn, places)
        assert find_word(WORD, repository.path) == []

    act(monkeypatch, step, (when, purge_it))
    done = carry(repository, "new", tmp_path)
    assert [row.status for row in done.conversations] == ["included", "included"]
    make_store(tmp_path / "reader.git")
    reader = open_store(tmp_path / "reader.git")
    carry_in(reader, "new", tmp_path)
    assert {"a [purged] b", "x y"} == {" ".join(texts(reader, f"{name}/main")) for name in ("conv-001", "conv-002")}
    assert find_word(WORD, reader.path, repository.path) == []
    assert verify(open_store(repository)).exit_code == 0


def test_a_conversation_that_is_purged_while_it_is_bundled_is_an_error_and_leaves_no_file(
    repository, drawn, places, tmp_path, monkeypatch
):
    act(monkeypatch, "_run_git", ("after", lambda: purge(open_store(repository), PurgeRequest(("conv-001",)), places)))
    with pytest.raises(NotFound):
        carry(repository, "new", tmp_path, "conv-001")
    assert [name for name in os.listdir(tmp_path) if "bundle" in name or name.startswith(".scopes")] == []


def test_a_purge_each_time_leaves_the_old_file_as_it_is(repository, drawn, places, tmp_path, monkeypatch):
    target = tmp_path / "new.bundle"
    target.write_text("mine")
    words = iter(drawn.ids.values())

    def purge_next():
        wanted = PurgeRequest(conversation=drawn.conversation, messages=(next(words),))
        purge(open_store(repository), wanted, places)

    act(monkeypatch, "_run_git", ("after", purge_next), times=3)
    with pytest.raises(Busy, match="purge has deleted objects of the store meanwhile"):
        carry(repository, "new", tmp_path)
    assert target.read_text() == "mine"
    assert carry(repository, "new", tmp_path).exit_code == 0


def test_an_error_without_a_purge_is_raised_at_once(repository, drawn, tmp_path, monkeypatch):
    tries = []

    def fail(*_):
        tries.append(1)
        raise Inaccessible("the disk is full")

    monkeypatch.setattr(bundles, "_run_git", fail)
    with pytest.raises(Inaccessible, match="the disk is full"):
        carry(repository, "new", tmp_path)
    assert tries == [1]


def test_a_purge_waits_while_a_complete_bundle_gets_its_name(repository, drawn, places, tmp_path, monkeypatch):
    rename, refused = atomic_save._rename, []

    def rename_slowly(*words, **options):
        impatient = open_store(repository, {**FAST, "scopes.locktimeout": Setting("scopes.lockTimeout", "0", "flag")})
        with pytest.raises(Busy) as error:
            purge_word(impatient, drawn, places)
        refused.append(error.value)
        rename(*words, **options)

    monkeypatch.setattr(atomic_save, "_rename", rename_slowly)
    assert carry(repository, "new", tmp_path).exit_code == 0
    assert len(refused) == 1


def test_a_bundle_of_which_nothing_is_taken_names_each_kind_of_reason_once(repository, drawn, places, tmp_path):
    for _ in range(2):
        history(repository, "main: c")
    carry(repository, "old", tmp_path)
    purge_word(repository, drawn, places)
    for name in ("conv-002", "conv-003", "conv-004"):
        purge(repository, PurgeRequest((name,)), places)
    message = refusal_of(repository, "old", tmp_path).message
    assert "3 more conversations are not acceptable" in message
    assert message.count(f"message {drawn.ids[WORD][:8]} in it was purged here") == 1
    assert message.count("of the bundle was purged here") == 1
