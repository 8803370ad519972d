"""Inbox entries of a conversation that was renamed, whose id another conversation has now."""

from __future__ import annotations

import json

import pytest

from scopes import clock
from scopes.agents.inbox import read_inbox, watch_inbox
from scopes.agents.register import register
from scopes.agents.send import send
from scopes.conversation.new_rename_delete import delete, new, rename_conversation
from scopes.history.handles import StoreHandle, read_uuid
from scopes.history.messages import plain_message
from scopes.history.metadata import write_metadata
from scopes.store.objects import find_blob, read_commit
from scopes.store.refs import AGENTS
from tests.support.random_ids import hashed_counter
from tests.support.store import git

ENTRY = "inbox/000001/000000000001.json"


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations, messages and conversations have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def sent(repository):
    """An agent with a message of conv-001."""
    new(repository)
    register(repository, "ann")
    send(StoreHandle(repository).branch("conv-001"), plain_message("carol", "hello"), ("ann",))
    return repository


def without_uuid(repository):
    """Write the entry as an older version did."""
    commit = repository.find_ref(AGENTS)
    document = json.loads(find_blob(repository, read_commit(repository, commit).tree, ENTRY))
    del document["uuid"]
    older = write_metadata(repository, commit, {ENTRY: json.dumps(document).encode()}, "older")
    git(repository, "update-ref", AGENTS, older)


def rename(repository, *, reuse=True):
    rename_conversation(repository, "conv-001", "foo")
    if reuse:
        new(repository, conversation_id="conv-001")


def conversations(repository):
    return [each.entry.conversation for each in read_inbox(repository, "ann").messages]


@pytest.mark.parametrize("reuse", [True, False])
def test_an_inbox_shows_the_present_id_of_a_conversation(sent, reuse):
    rename(sent, reuse=reuse)
    assert conversations(sent) == ["foo"]


def test_a_rename_does_not_show_a_message_again_to_who_watches(sent):
    watched = watch_inbox(sent, "ann", idle_seconds=10)
    assert len(next(watched).messages) == 1
    rename(sent)
    send(StoreHandle(sent).branch("foo"), plain_message("carol", "again"), ("ann",))
    assert [each.message.text for each in next(watched).messages] == ["again"]


def test_a_deleted_conversation_whose_id_is_used_again_is_named_by_its_uuid(sent):
    uuid = read_uuid(sent, "conv-001")
    delete(sent, "conv-001")
    assert conversations(sent) == ["conv-001"]
    new(sent, conversation_id="conv-001")
    assert conversations(sent) == [uuid]
