"""Undo of changes of the agent registry, which everybody in the store shares."""

from __future__ import annotations

import pytest

from scopes.agents.inbox import read_inbox
from scopes.agents.register import AgentChanges, register, update
from scopes.agents.registry import Registry
from scopes.agents.send import send
from scopes.clock import format_time, now_nanoseconds
from scopes.conversation.new_rename_delete import new
from scopes.conversation.store import gc
from scopes.conversation.undo import redo, undo
from scopes.conversation.verify import verify
from scopes.errors import NotFound, Refused
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.store.refs import AGENTS
from tests.support.random_ids import spread_ids  # noqa: F401 - operations have different ids
from tests.support.store import git, open_store


@pytest.fixture
def team(repository):
    """Two conversations, ann and bob."""
    new(repository)
    new(repository)
    register(repository, "ann")
    register(repository, "bob")
    return repository


def names(repository):
    return {agent.name: agent.number for agent in Registry(repository).agents}


def sent(repository, conversation, text, *to, queue=False):
    return send(StoreHandle(repository).branch(conversation), plain_message("carol", text), to, queue=queue)


def inbox(repository, name, **options):
    return [each.message.text for each in read_inbox(repository, name, **options).messages]


def test_a_registration_is_undone_after_others_have_changed_the_registry(team):
    zoe = register(team, "zoe")
    other = register(team, "dan")
    update(team, "ann", AgentChanges(available=False))
    undone = undo(team, zoe.operation)
    assert undone.target.id == zoe.operation
    assert names(team) == {"ann": 1, "bob": 2, "dan": 4}
    assert not Registry(team).find("ann").available
    redo(team)
    assert names(team) == {"ann": 1, "bob": 2, "zoe": 3, "dan": 4}
    undo(team, other.operation)
    assert names(team) == {"ann": 1, "bob": 2, "zoe": 3}
    assert verify(team).findings == ()
    assert git(team, "fsck", "--strict") == ""


def test_an_undo_keeps_what_another_actor_did_meanwhile(team):
    dan = open_store(team.path, actor="dan")
    register(team, "zoe")
    register(dan, "eve")
    undo(team)
    assert names(team) == {"ann": 1, "bob": 2, "eve": 4}
    undo(dan)
    assert names(team) == {"ann": 1, "bob": 2}


def test_the_number_of_an_undone_registration_is_not_used_again(team):
    """S2-1, also after the operation log has forgotten the registration."""
    register(team, "zoe")
    undo(team)
    assert register(team, "eve").agent.number == 4
    undo(team)
    gc(team, expire_before=format_time(now_nanoseconds() + 10**9))
    assert register(team, "fay").agent.number == 5


def test_a_message_never_gets_the_sequence_number_of_one_that_was_undone(team):
    """Who watches an inbox looks at higher numbers only."""
    sent(team, "conv-001", "one", "ann")
    undo(team)
    sent(team, "conv-001", "two", "ann")
    assert [each.entry.sequence for each in read_inbox(team, "ann").messages] == [2]


def test_a_change_that_was_changed_again_is_not_undone_and_the_later_one_is_named(team):
    first = update(team, "bob", AgentChanges(description="tests"))
    second = update(team, "bob", AgentChanges(description="writes"))
    with pytest.raises(Refused, match="was changed again since") as refusal:
        undo(team, first.operation)
    assert refusal.value.hint == f"undo first 'update agent 2: bob': scopes undo {second.operation[:8]}"
    undo(team, second.operation)
    undo(team, first.operation)
    assert Registry(team).find("bob").description == ""


def test_a_registration_is_not_undone_while_messages_would_have_nobody(team):
    zoe = register(team, "zoe")
    sent(team, "conv-001", "hello", "zoe")
    with pytest.raises(Refused, match="the agent has got messages since") as refusal:
        undo(team, zoe.operation)
    assert refusal.value.hint == "remove it: scopes agents remove zoe"
    read_inbox(team, "zoe", acknowledge=True)
    undo(team, zoe.operation)
    assert names(team) == {"ann": 1, "bob": 2}


def test_a_message_is_taken_back_while_others_wait_in_the_same_inbox(team):
    sent(team, "conv-001", "one", "ann", "bob")
    sent(team, "conv-002", "two", "ann")
    assert undo(team, "conv-001").target.summary.startswith("send ")
    assert (inbox(team, "ann"), inbox(team, "bob")) == (["two"], [])
    redo(team, conversation="conv-001")
    assert (inbox(team, "ann"), inbox(team, "bob")) == (["one", "two"], ["one"])


def test_a_message_that_was_acknowledged_is_not_taken_back_before_that_is(team):
    done = sent(team, "conv-001", "one", "ann")
    taken = read_inbox(team, "ann", acknowledge=True)
    with pytest.raises(Refused, match="was changed again since") as refusal:
        undo(team, done.operation)
    cure = f"undo first 'acknowledge 1 message for ann': scopes undo {taken.operation[:8]}"
    assert refusal.value.hint == cure
    undo(team, taken.operation)
    undo(team, done.operation)
    assert inbox(team, "ann") == []


def test_undo_of_a_conversation_leaves_agents_alone(team):
    update(team, "ann", AgentChanges(available=False))
    sent(team, "conv-001", "one", "ann", queue=True)
    update(team, "ann", AgentChanges(available=True))
    with pytest.raises(Refused, match="was changed again since"):
        undo(team, "conv-001")
    assert Registry(team).find("ann").available


def test_a_dry_run_writes_nothing_and_refuses_what_the_undo_would(team):
    first = update(team, "bob", AgentChanges(description="tests"))
    register(team, "zoe")
    before = team.find_ref(AGENTS)
    assert undo(team, first.operation, dry_run=True).operation is None
    update(team, "bob", AgentChanges(description="writes"))
    with pytest.raises(Refused, match="was changed again since"):
        undo(team, first.operation, dry_run=True)
    undo(team)
    undo(team)
    assert team.find_ref(AGENTS) != before
    assert Registry(team).find("bob").description == "tests"


def test_undo_of_everything_leaves_no_agent(team):
    for _ in range(4):
        undo(team)
    assert names(team) == {}
    with pytest.raises(NotFound):
        undo(team)
