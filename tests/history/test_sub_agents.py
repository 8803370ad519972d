"""Sub-agents are recognized by the first message of their branch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.conversation.append import append
from scopes.conversation.new_rename_delete import new
from scopes.history.messages import plain_message
from scopes.history.sessions import SubAgent, find_sub_agent, is_spawned, spawner_of
from scopes.model.message import Author
from scopes.store.objects import read_commit


@pytest.mark.parametrize(
    ("extra", "spawned", "spawner"),
    [
        ({}, False, None),
        ({"spawned_by": {"message": "k3x9", "call_id": "c"}}, True, "k3x9"),
        ({"spawned_by": {"call_id": "c"}}, True, None),
        ({"spawned_by": {"message": 7}}, True, None),
        ({"spawned_by": "k3x9"}, False, None),
    ],
)
def test_a_first_message_names_the_call_it_follows(extra, spawned, spawner):
    message = replace(plain_message("user", "Find it"), extra=extra)
    assert is_spawned(message) is spawned
    assert spawner_of(message) == spawner


def line(repository, *messages):
    """Append messages to a new conversation; return their commits, newest first."""
    conversation = new(repository).id
    return [read_commit(repository, append(repository, conversation, m).oid) for m in messages][::-1]


def test_the_agent_is_the_last_author_on_its_branch(repository):
    """A branch may begin with copies of its parent's messages."""
    first = replace(plain_message(Author("user", "injected"), "Find it"), extra={"spawned_by": {"message": "k3x9"}})
    commits = line(
        repository,
        first,
        plain_message("codex", "a"),
        plain_message("Hilbert", "b"),
        plain_message(Author("tool", "tool"), "c"),
    )
    assert find_sub_agent(repository, commits) == SubAgent("Hilbert", "k3x9")
    assert find_sub_agent(repository, commits[-1:]) == SubAgent(None, "k3x9")


def test_other_branches_are_not_sub_agents(repository):
    assert find_sub_agent(repository, line(repository, plain_message("carol", "a"))) is None
    assert find_sub_agent(repository, []) is None
