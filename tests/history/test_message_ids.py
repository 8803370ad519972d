"""A message by a prefix of its id among many conversations: through the index, and the same without it."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.new_rename_delete import new
from scopes.errors import NotFound
from scopes.history import names as message_ids
from scopes.history import names as revisions
from scopes.history.messages import header_of
from scopes.history.names import (
    conversation_ids,
    find_copies,
    find_latest_with_branch,
    list_branch_tips,
    resolve_revision,
)
from scopes.store.objects import read_commit
from tests.support.history import say
from tests.support.store import open_store

ALL = [f"conv-00{number}" for number in range(1, 6)]


@pytest.fixture
def reads(monkeypatch):
    """Return a list of the histories that were read for their ids."""
    found = []
    original = message_ids._encode_ids

    def encode(repository, tips):
        found.append(tips)
        return original(repository, tips)

    monkeypatch.setattr(message_ids, "_encode_ids", encode)
    monkeypatch.setattr(message_ids, "_FEW", 2)
    return found


@pytest.fixture
def store(repository, tmp_path, spread_ids):
    """Make a store of five conversations with a message each."""
    for name in ALL:
        new(repository)
        say(repository, name, f"the text of {name}")
    repository.caller = repository.caller._replace(index_directory=str(tmp_path / "index"))
    return repository


def id_of(store, conversation):
    """Return the id of the last message of a conversation."""
    return header_of(read_commit(store, resolve_revision(store, conversation).oid)).id


def candidates(store, prefix):
    tips = {name: list(list_branch_tips(store, name).values()) for name in conversation_ids(store)}
    return message_ids._list_candidates(store, prefix, tips)


def reopened(store):
    again = open_store(store.path)
    again.caller = again.caller._replace(index_directory=store.caller.index_directory)
    return again


def test_a_prefix_leads_to_its_message_in_whatever_conversation(store, reads):
    for name in ALL:
        prefix = id_of(store, name)[:12]
        assert resolve_revision(store, prefix).conversation == name
        assert [each.conversation for each in find_copies(store, prefix)] == [name]


def test_a_prefix_of_a_commit_does_too(store, reads):
    oid = resolve_revision(store, "conv-004").oid
    assert candidates(store, oid[:10]) == ["conv-004"]
    assert resolve_revision(store, oid[:10]).oid == oid


def test_the_ids_of_a_conversation_are_read_once(store, reads):
    for _ in range(2):
        with pytest.raises(NotFound):
            resolve_revision(reopened(store), "nosuchthing")
    assert len(reads) == len(ALL)


def test_after_a_change_only_that_conversation_is_read_again(store, reads):
    assert candidates(store, "nosuchthing") == []
    del reads[:]
    say(store, "conv-003", "one more")
    prefix = id_of(store, "conv-003")[:12]
    assert candidates(store, prefix) == ["conv-003"]
    assert reads == [list(list_branch_tips(store, "conv-003").values())]


def test_without_an_index_the_answers_are_the_same(store, reads):
    store.caller = store.caller._replace(index_directory=None)
    for name in ALL:
        assert candidates(store, id_of(store, name)[:12]) == [name]
    assert candidates(store, "nosuchthing") == []


def test_a_conversation_that_cannot_be_read_is_a_candidate(store, reads):
    """Reading it says then what is wrong with it."""
    tips = {name: list(list_branch_tips(store, name).values()) for name in ALL}
    tips["conv-002"] = ["0" * 39 + "1"]
    assert message_ids._list_candidates(store, "nosuchthing", tips) == ["conv-002"]


def test_the_latest_conversation_is_not_looked_for_if_none_has_such_a_branch(store, monkeypatch):
    branch(store, "conv-002", name="idea")
    asked = []
    original = revisions._find_latest
    monkeypatch.setattr(revisions, "_find_latest", lambda *words: asked.append(words) or original(*words))
    assert find_latest_with_branch(store, "other") is None
    assert asked == []
    assert find_latest_with_branch(store, "idea") is None
    assert len(asked) == 1
    branch(store, "conv-005", name="other")
    assert find_latest_with_branch(store, "other") == "conv-005"
