"""The names of a purged conversation and of its branches do not stay in what memory, facts and inboxes say."""

from __future__ import annotations

import os

import pytest

from scopes.agents.inbox import read_inbox
from scopes.agents.register import register
from scopes.agents.send import send
from scopes.conversation.verify import verify
from scopes.facts.propose import Proposal, propose
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.memory.update import update as update_memory
from scopes.purge.purge import purge
from scopes.purge.selection import PurgeRequest
from tests.support.every_byte import find_word
from tests.support.history import history

WORD = "Xylophone-Quarantine-4711"
NAME = f"deal-{WORD}"


def deliver(repository, where, text):
    """Send a message to the agent ann."""
    send(StoreHandle(repository).branch(where), plain_message("carol", text), ["ann"])


def senders(repository):
    """Return the conversations of what is in the inbox."""
    return [each.entry.conversation for each in read_inbox(repository, "ann").messages]


@pytest.fixture
def named(repository):
    """A store in which memory, facts and an inbox name a conversation and a branch, and another conversation."""
    drawn = history(repository, "main: a b", f"lay-off-{WORD}@a: c", conversation=NAME)
    history(repository, "main: x y", conversation="kept")
    register(repository, "ann")
    deliver(repository, f"{drawn.conversation}/lay-off-{WORD}", "for ann")
    deliver(repository, "kept/main", "also for ann")
    update_memory(repository, at_once=True)
    propose(repository, drawn.conversation, Proposal(key="Constraints", content="it must hold", agent="carol"))
    return repository


def test_no_name_of_a_purged_conversation_is_left(named, places):
    assert find_word(WORD, named.path)
    done = purge(named, PurgeRequest((NAME,)), places)
    assert find_word(WORD, named.path, *filter(os.path.isdir, places.derived)) == []
    assert (done.left, done.exit_code) == ((), 0)
    assert verify(named).exit_code == 0


def test_the_inbox_keeps_what_other_conversations_sent(named, places):
    purge(named, PurgeRequest((NAME,)), places)
    assert senders(named) == ["kept"]
    deliver(named, "kept/main", "once more")
    assert senders(named) == ["kept", "kept"]


def test_a_purged_message_leaves_the_names_of_its_conversation(named, places):
    purge(named, PurgeRequest(conversation="kept", messages=("main~2",)), places)
    assert senders(named) == [NAME, "kept"]
