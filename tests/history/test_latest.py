"""The order of conversations by their last message."""

from __future__ import annotations

import pytest

from scopes.conversation.append import append
from scopes.conversation.new_rename_delete import new
from scopes.history.messages import plain_message
from scopes.history.names import list_latest


@pytest.fixture
def store(repository):
    """Make a store of five conversations, whose last messages are in another order than their numbers."""
    for _ in range(5):
        new(repository)
    for name in ("conv-003", "conv-001", "conv-005"):
        append(repository, name, plain_message("ann", f"hello {name}"))
    return repository


ORDER = ["conv-005", "conv-001", "conv-003", "conv-004", "conv-002"]


def test_the_last_message_counts_and_after_an_append_it_is_another_one(store):
    assert list_latest(store) == ORDER
    append(store, "conv-002", plain_message("ann", "more"))
    assert list_latest(store) == ["conv-002", *ORDER[:-1]]


def test_of_some_conversations_only_these_are_in_it(store):
    assert list_latest(store, {"conv-003", "conv-004"}) == ["conv-003", "conv-004"]
