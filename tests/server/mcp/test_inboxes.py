"""What an agent takes out of its inbox is what it has read."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("mcp")

from scopes.agents import inbox as inbox_module
from scopes.agents.inbox import acknowledge_entries, read_inbox
from scopes.agents.register import register
from scopes.agents.send import send
from scopes.conversation.undo import undo
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.server.mcp.budget import count_tokens
from tests.support.examples import amount
from tests.support.history import history
from tests.support.mcp_client import Agent
from tests.support.store import make_store, open_store


@pytest.fixture
def store(tmp_path):
    """A store in which gemini is registered, and a conversation."""
    made = make_store(tmp_path / "store")
    history(made, "main: a")
    register(made, "gemini")
    return made


@pytest.fixture
def agent(store):
    return Agent(store.path, "gemini")


def deliver(store, *words):
    """Send messages of so many words to gemini, numbered from 0."""
    branch = StoreHandle(store).branch("conv-001")
    for number, count in enumerate(words):
        send(branch, plain_message("codex", f"{number} " + "word " * count), ["gemini"])


def numbers(messages):
    return [int(each["text"].split()[0]) for each in messages]


def waiting(store):
    """Return the numbers of the messages that are still in the inbox."""
    return [int(each.message.text.split()[0]) for each in read_inbox(open_store(store.path), "gemini").messages]


def test_exactly_the_messages_of_the_answer_are_taken(store, agent):
    deliver(store, *[200] * 20)
    answered = agent.call("inbox", acknowledge=True, max_tokens=2_000)
    found = answered.structured_content
    taken = numbers(found["messages"])
    assert count_tokens(answered.content[0].text) <= 2_000
    assert 0 < len(taken) < 20
    assert (taken + waiting(store), found["left_out"]) == (list(range(20)), 20 - len(taken))


def test_every_message_that_is_taken_is_whole(store, agent):
    deliver(store, 1_800, 1_800, 1_800)
    while waiting(store):
        for each in agent.get("inbox", acknowledge=True, max_tokens=3_000)["messages"]:
            assert each["text"].count("word") == 1_800


def test_a_second_call_takes_the_rest(store, agent):
    deliver(store, *[200] * 12)
    seen = []
    while len(seen) < 12:
        seen += numbers(agent.get("inbox", acknowledge=True, max_tokens=1_000)["messages"])
    assert seen == list(range(12))
    assert agent.get("inbox", acknowledge=True)["messages"] == []


def test_a_message_that_does_not_fit_alone_stays_and_holds_up_no_other(store, agent):
    deliver(store, 10, 5_000, 10)
    found = agent.get("inbox", acknowledge=True, max_tokens=1_000)
    assert (numbers(found["messages"]), waiting(store), found["left_out"]) == ([0, 2], [1], 1)
    [note] = found["notes"]
    assert note == {"text": "1 message too long for max_tokens: not taken", "hint": "raise max_tokens"}


def test_nothing_is_taken_if_no_message_fits(store, agent):
    deliver(store, 5_000, 5_000)
    error = agent.refused("inbox", acknowledge=True, max_tokens=1_000)
    assert "so nothing was taken\nraise max_tokens" in error
    assert waiting(store) == [0, 1]


def test_a_message_that_no_budget_can_hold_is_for_the_user(store, agent):
    deliver(store, 120_000)
    error = agent.refused("inbox", acknowledge=True, max_tokens=100_000)
    assert "scopes inbox gemini --ack" in error
    assert waiting(store) == [0]


@pytest.mark.parametrize("budget", [99, 100_001])
def test_a_wrong_budget_is_refused_before_anything_is_taken(store, agent, budget):
    deliver(store, 1)
    assert "max_tokens must be" in agent.refused("inbox", acknowledge=True, max_tokens=budget)
    assert waiting(store) == [0]


def test_two_readers_at_once_get_each_message_once(store, agent):
    count, seen = amount(30, 8), []
    deliver(store, *[100] * count)

    def read():
        reader = Agent(store.path, "gemini")
        for _ in range(count):
            seen.extend(numbers(reader.get("inbox", acknowledge=True, max_tokens=1_000)["messages"]))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert sorted(seen) == list(range(count))


def test_what_was_taken_comes_back_with_undo(store, agent):
    deliver(store, 10, 10)
    operation = agent.get("inbox", acknowledge=True)["operation"]
    undo(open_store(store.path), operation, any_actor=True)
    assert waiting(store) == [0, 1]


def test_the_message_that_a_program_works_on_is_not_taken(store, monkeypatch):
    deliver(store, 1, 1)
    first, second = (each.entry.sequence for each in read_inbox(store, "gemini").messages)
    monkeypatch.setattr(inbox_module, "find_under_way", lambda repository, agent: first)
    taken = acknowledge_entries(store, "gemini", {first, second})
    assert [each.entry.sequence for each in taken.messages] == [second]
    assert "is running for it" in taken.notes[-1].text


def test_entries_that_are_gone_are_not_taken_again(store):
    deliver(store, 1)
    [sequence] = (each.entry.sequence for each in read_inbox(store, "gemini").messages)
    assert acknowledge_entries(store, "gemini", {sequence}).operation is not None
    again = acknowledge_entries(store, "gemini", {sequence})
    assert (list(again.messages), again.operation) == ([], None)


def test_an_inbox_of_many_messages_is_read_only_as_far_as_it_is_shown(store, agent):
    deliver(store, *[1] * 60)
    found = agent.get("inbox", max_tokens=300)
    assert len(found["messages"]) + found["left_out"] == 60
