"""`changes --registry`: what belongs to no conversation, registered agents and context keys (S4-49 to S4-52)."""

from __future__ import annotations

import json

import pytest

from scopes import clock
from scopes.agents.card import import_card
from scopes.agents.inbox import read_inbox
from scopes.agents.register import AgentChanges, register, remove, set_availability, update
from scopes.agents.send import send
from scopes.conversation.changes import changes, registry_changes
from scopes.conversation.new import new
from scopes.conversation.tag import tag
from scopes.conversation.undo import redo, undo
from scopes.errors import Invalid
from scopes.facts.propose import add_key
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.store.refs import AGENTS
from tests.support.random_ids import hashed_counter
from tests.support.shared_files import write_file
from tests.support.store import files_of, open_store

CONV = "conv-001"
ANN = {
    "number": 1, "name": "ann", "type": "ai", "capabilities": ["review"], "dependencies": [], "metadata": {},
    "available": True,
}  # fmt: skip


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def store(repository):
    new(repository)
    register(repository, "ann", capabilities=["review"])
    return repository


def rows(repository, **options):
    found = registry_changes(repository, **options).items
    return [(each.operation, each.field_path, each.before, each.after, each.cause) for each in found]


def test_a_registered_agent_is_a_row_with_what_is_known_about_it(store):
    assert rows(store) == [("CREATE", "agents.ann", None, ANN, "user:carol")]


def test_each_field_that_is_updated_is_a_row(store):
    update(store, "ann", AgentChanges(add_capabilities=["go"], description="checks", metadata={"model": "x"}))
    assert rows(store)[1:] == [
        ("UPDATE", "agents.ann.capabilities", ["review"], ["review", "go"], "user:carol"),
        ("UPDATE", "agents.ann.description", None, "checks", "user:carol"),
        ("UPDATE", "agents.ann.metadata", {}, {"model": "x"}, "user:carol"),
    ]


def test_a_new_name_is_a_row_of_the_old_one(store):
    update(store, "ann", AgentChanges(name="anna"))
    set_availability(store, "anna", available=False)
    assert rows(store)[1:] == [
        ("UPDATE", "agents.ann.name", "ann", "anna", "user:carol"),
        ("UPDATE", "agents.anna.available", True, False, "user:carol"),
    ]


def test_an_imported_card_and_a_removal_are_rows(store):
    card = {"name": "bot", "skills": [{"id": "go"}], "provider": {"organization": "x"}}
    import_card(store, json.dumps(card).encode())
    remove(store, "ann")
    created, removed = rows(store)[1:]
    assert created[:2] == ("CREATE", "agents.bot")
    assert (created[3]["capabilities"], created[3]["card"]["provider"]) == (["go"], {"organization": "x"})
    assert removed == ("DELETE", "agents.ann", ANN, None, "user:carol")


def test_a_context_key_is_a_row_and_a_fact_is_not(store):
    add_key(store, "Risks")
    undo(store)
    assert rows(store, field="context_keys") == [
        ("CREATE", "context_keys.Risks", None, "added", "user:carol"),
        ("DELETE", "context_keys.Risks", "added", None, "user:carol"),
    ]


def test_undo_and_redo_are_rows_of_whoever_did_them(store):
    remove(store, "ann")
    undo(open_store(store.path, actor="dan"), any_actor=True)
    redo(open_store(store.path, actor="dan"))
    assert [(row[0], row[1], row[4]) for row in rows(store)] == [
        ("CREATE", "agents.ann", "user:carol"), ("DELETE", "agents.ann", "user:carol"),
        ("CREATE", "agents.ann", "user:dan"), ("DELETE", "agents.ann", "user:dan"),
    ]  # fmt: skip


def test_a_registered_program_that_runs_a_command_is_an_agent_also_after_its_removal(store):
    """Rows do not change later, so what somebody is counts as of then."""
    register(open_store(store.path, actor="ann"), "bob")
    tag(open_store(store.path, actor="ann"), CONV, "v1", "main")
    remove(store, "ann")
    register(open_store(store.path, actor="ann"), "eve")
    causes = {path: cause for verb, path, *_, cause in rows(store) if verb == "CREATE"}
    assert causes == {"agents.ann": "user:carol", "agents.bob": "agent:ann", "agents.eve": "user:ann"}
    assert [each.cause for each in changes(store, CONV, field="tags").items] == ["agent:ann"]


def test_a_conversation_has_rows_of_agents_only_where_its_messages_are_delivered_with_them(store):
    for available in (False, True, False):
        set_availability(store, "ann", available=available)
    send(StoreHandle(store).branch(CONV), plain_message("bob", "look"), ["ann"], queue=True)
    set_availability(store, "ann", available=True)
    read_inbox(store, "ann", acknowledge=True)
    found = [(each.operation, each.field_path) for each in changes(store, CONV).items]
    assert [row for row in found if row[1].startswith(("agents", "inbox"))] == [
        ("APPEND", "inbox.ann"), ("UPDATE", "agents.ann.available"), ("UPDATE", "inbox.ann"), ("DELETE", "inbox.ann"),
    ]  # fmt: skip
    assert len(rows(store, field="agents.ann.available")) == 4


def test_what_is_only_read_or_sent_changes_no_agent(store):
    before = rows(store)
    send(StoreHandle(store).branch(CONV), plain_message("bob", "look"), ["ann"])
    read_inbox(store, "ann", acknowledge=True)
    assert rows(store) == before


def test_filters_select_rows_and_tell_what_there_is(store):
    set_availability(store, "ann", available=False)
    assert [row[1] for row in rows(store, operation="update")] == ["agents.ann.available"]
    assert len(rows(store, field="agents.ann", cause="user")) == 2
    assert rows(store, since="2030-01-01") == []
    (note,) = registry_changes(store, field="messages").notes
    assert note.hint == "fields: agents"
    with pytest.raises(Invalid, match="is not a valid cause"):
        registry_changes(store, cause="ann")


def test_who_asks_a_conversation_for_agents_is_shown_the_way(store):
    (note,) = changes(store, CONV, field="agents.ann").notes
    assert note.hint == "see: scopes conv changes --registry --field agents.ann"


def test_the_log_of_an_empty_registry_is_empty_and_reading_it_writes_nothing(repository):
    before = files_of(repository.path)
    log = registry_changes(repository)
    assert (log.conversation, log.items, log.notes) == (None, (), ())
    assert files_of(repository.path) == before


def test_a_damaged_agent_is_left_out(store):
    write_file(store, AGENTS, "agents/000002.json", b"{{{")
    assert rows(store) == [("CREATE", "agents.ann", None, ANN, "user:carol")]
