"""Which recorded session an agent goes on with is found without a look at conversations that were not recorded live."""

from __future__ import annotations

import pytest

from scopes.clock import new_id, now
from scopes.conversation.new_rename_delete import delete, new, rename_conversation
from scopes.errors import Corrupt
from scopes.history.names import list_latest
from scopes.importers import conversation_roots
from scopes.model.message import Author, Message, text_parts
from scopes.server.acp import recordings
from scopes.server.acp.recordings import SessionWriter, find_newest, find_session, identity_of, list_sessions

AGENT = "claude"


def record(repository, session, cwd="/shop"):
    """Record a session with one message, and return its conversation."""
    writer = SessionWriter(repository, identity_of(AGENT, cwd), session, session, None)
    message = Message(id=new_id(), author=Author("carol", "human"), parts=text_parts(session), time=now())
    return writer.append(message).conversation


@pytest.fixture
def store(repository, tmp_path):
    """A store with three recorded conversations among others, and a place for what was derived from it."""
    repository.caller = repository.caller._replace(index_directory=str(tmp_path / "index"))
    for number in range(3):
        new(repository)
        record(repository, f"session-{number}")
    return repository


@pytest.fixture
def looked_at(monkeypatch):
    """The conversations in which sessions were looked for."""
    found = []
    original = recordings._find_branches
    monkeypatch.setattr(
        recordings,
        "_find_branches",
        lambda repository, conversation, metadata: (
            found.append(conversation) or original(repository, conversation, metadata)
        ),
    )
    return found


def sessions(repository):
    return {branch.session for branch in list_sessions(repository, AGENT)}


def test_only_recorded_conversations_are_looked_at(store, looked_at):
    assert sessions(store) == {"session-0", "session-1", "session-2"}
    assert find_newest(store, identity_of("nobody", "/shop")) is None
    assert set(looked_at) == {"conv-002", "conv-004", "conv-006"}


def test_the_metadata_of_a_conversation_are_read_once(store, monkeypatch):
    sessions(store)
    read = []
    original = conversation_roots.read_metadata_at
    monkeypatch.setattr(
        conversation_roots, "read_metadata_at", lambda objects, oid: read.append(oid) or original(objects, oid)
    )
    assert find_session(store, AGENT, "session-1").conversation == "conv-004"
    assert read == []
    record(store, "session-3")
    assert find_session(store, AGENT, "session-3").conversation == "conv-007"
    assert len(read) == 1


def test_without_an_index_the_same_is_found(store):
    kept = sessions(store)
    store.caller = store.caller._replace(index_directory=None)
    assert sessions(store) == kept


def test_a_conversation_that_is_renamed_or_deleted_afterwards_is_found_as_it_is(store):
    sessions(store)
    rename_conversation(store, "conv-002", "shop")
    delete(store, "conv-004")
    assert find_session(store, AGENT, "session-0").conversation == "shop"
    assert find_session(store, AGENT, "session-1") is None


def test_damage_in_another_conversation_hides_no_session(store, monkeypatch):
    def fail(*_):
        raise Corrupt("the metadata are damaged")

    monkeypatch.setattr(recordings, "list_conversation_roots", fail)
    assert sessions(store) == {"session-0", "session-1", "session-2"}


def test_a_recorded_conversation_without_a_known_root_is_found(store, monkeypatch):
    monkeypatch.setattr(conversation_roots, "_root_in", lambda *_: None)
    assert sessions(store) == {"session-0", "session-1", "session-2"}


def test_the_latest_of_some_conversations_are_sorted_as_all_are(store):
    every = list_latest(store)
    some = {"conv-002", "conv-005"}
    assert list_latest(store, some) == [each for each in every if each in some]
