"""The order of conversations by their last message: the same with and without the index, which spares the tips."""

from __future__ import annotations

import sqlite3

import pytest

from scopes.conversation.append import append
from scopes.conversation.new_rename_delete import delete, new
from scopes.history import names as latest
from scopes.history.messages import plain_message
from scopes.history.names import list_latest
from tests.support.store import open_store


@pytest.fixture
def reads(monkeypatch):
    """Return a list that has each tip whose commit was read for its time."""
    found = []
    original = latest._time_of

    def time_of(repository, tip):
        found.append(tip)
        return original(repository, tip)

    monkeypatch.setattr(latest, "_time_of", time_of)
    monkeypatch.setattr(latest, "_MANY", 2)
    return found


@pytest.fixture
def store(repository, tmp_path):
    """Make a store of five conversations, whose last messages are in another order than their numbers."""
    for _ in range(5):
        new(repository)
    for name in ("conv-003", "conv-001", "conv-005"):
        append(repository, name, plain_message("ann", f"hello {name}"))
    repository.caller = repository.caller._replace(index_directory=str(tmp_path / "index"))
    return repository


ORDER = ["conv-005", "conv-001", "conv-003", "conv-004", "conv-002"]


def reopened(store):
    again = open_store(store.path)
    again.caller = again.caller._replace(index_directory=store.caller.index_directory)
    return again


def test_a_tip_is_read_once(store, reads):
    assert list_latest(store) == ORDER
    assert len(reads) == 5
    assert list_latest(reopened(store)) == ORDER
    assert len(reads) == 5


def test_after_an_append_only_the_new_tip_is_read(store, reads):
    list_latest(store)
    append(store, "conv-002", plain_message("ann", "more"))
    assert list_latest(store) == ["conv-002", *ORDER[:-1]]
    assert len(reads) == 6


def test_a_deleted_conversation_is_not_in_the_order_any_more(store, reads):
    list_latest(store)
    delete(store, "conv-005")
    assert list_latest(store) == ORDER[1:]


def test_without_an_index_every_tip_is_read_each_time_and_the_order_is_the_same(store, reads):
    store.caller = store.caller._replace(index_directory=None)
    assert list_latest(store) == list_latest(store) == ORDER
    assert len(reads) == 10


def test_few_tips_are_read_without_the_index(store, reads, monkeypatch, tmp_path):
    monkeypatch.setattr(latest, "_MANY", 6)
    assert list_latest(store) == ORDER
    assert not (tmp_path / "index").exists()


def test_of_some_conversations_only_the_tips_are_read_and_the_times_of_the_others_stay_kept(store, reads):
    list_latest(store)
    assert list_latest(store, {"conv-003", "conv-004"}) == ["conv-003", "conv-004"]
    before = len(reads)
    assert list_latest(store) == ORDER
    assert len(reads) == before


@pytest.mark.parametrize("change", ["DELETE FROM tip", "DROP TABLE tip"])
def test_a_damaged_index_changes_no_order(store, reads, change):
    list_latest(store)
    with sqlite3.connect(f"{store.caller.index_directory}/sessions.sqlite") as connection:
        connection.execute(change)
    connection.close()
    assert list_latest(reopened(store)) == ORDER
    assert len(reads) == 10
