"""An inbox with very many messages is listed, written as JSON and acknowledged without having them all in memory."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from scopes import clock
from scopes.agents.inbox import add_entries, read_inbox
from scopes.agents.received import InboxEntry, ReceivedMessages
from scopes.agents.register import register
from scopes.agents.registry import Registry, store_registry
from scopes.conversation.append import append_all
from scopes.conversation.new_rename_delete import new
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.render.document import result_line, walk_result_line
from scopes.store.transactions import exclusive_write
from tests.support.random_ids import hashed_counter

COUNT = 200
TEXT_BYTES = 20_000


@pytest.fixture
def store(repository, monkeypatch):
    """An agent with many long messages."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    new(repository)
    register(repository, "ann")
    branch = StoreHandle(repository).branch("conv-001")
    append_all(branch, [plain_message("carol", f"{number} ".ljust(TEXT_BYTES, "x")) for number in range(COUNT)])
    with exclusive_write(repository):
        for head in reversed(list(branch.headers())):
            entry = InboxEntry(
                sequence=0, message=head.id, oid=head.oid, conversation="conv-001", branch="main", sender="carol",
                sent=clock.now(),
            )  # fmt: skip
            registry = Registry(repository)
            store_registry(registry, add_entries(registry, {1: False}, entry), "deliver")
    return repository


def peak_bytes(act):
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_message_is_read_when_it_is_asked_for(store):
    found = read_inbox(store, "ann").messages
    assert isinstance(found, ReceivedMessages)
    assert (len(found), found[0].message.text[:2], found[-1].message.text[:4]) == (COUNT, "0 ", "199 ")
    assert [each.message.text[:4] for each in found[1:3]] == ["1 xx", "2 xx"]
    assert found == tuple(found)
    assert found[:2] == tuple(found)[:2]


def test_a_list_does_not_hold_the_messages(store):
    def list_all():
        assert sum(len(each.message.text) for each in read_inbox(store, "ann").messages) == COUNT * TEXT_BYTES

    list_all()
    assert peak_bytes(list_all) < COUNT * TEXT_BYTES / 3


def test_json_is_written_in_pieces_and_is_one_document(store):
    def write_all():
        assert sum(map(len, walk_result_line(read_inbox(store, "ann")))) > COUNT * TEXT_BYTES

    write_all()
    assert peak_bytes(write_all) < COUNT * TEXT_BYTES / 3
    document = json.loads(result_line(read_inbox(store, "ann")))
    assert list(document) == ["scopes", "kind", "agent", "number", "messages", "waiting", "ended"]
    assert [each["text"][:4] for each in document["messages"]][:2] == ["0 xx", "1 xx"]
    assert len(document["messages"]) == COUNT


@pytest.mark.slow
def test_selected_fields_of_the_messages_are_those_of_the_whole_document(store):
    found = read_inbox(store, "ann")
    reduced = json.loads(result_line(found, fields=["id", "from"]))
    assert reduced["messages"] == [{"id": each.entry.message, "from": "carol"} for each in found.messages]


@pytest.mark.slow
def test_what_is_acknowledged_is_what_was_returned(store):
    """Each was compared with each: 100,000 messages took hours."""
    taken = read_inbox(store, "ann", acknowledge=True)
    assert [each.message.text[:4] for each in taken.messages][-1] == "199 "
    assert len(taken.messages) == COUNT
    assert read_inbox(store, "ann").messages == ()


def test_an_empty_inbox_is_an_empty_list(repository):
    register(repository, "ann")
    found = read_inbox(repository, "ann")
    assert not found.messages
    assert json.loads(result_line(found))["messages"] == []
