"""Conversations for a work item are found, in order, without decoding messages that cannot be for it."""

from __future__ import annotations

import pytest

from scopes.context import collect
from scopes.context.collect import find_work_item
from scopes.conversation.branch import branch
from scopes.conversation.new import new
from scopes.history.revparse import list_branch_tips
from tests.support.history import say


@pytest.fixture
def decoded(monkeypatch):
    """Return a list that grows with every decoded message."""
    calls = []
    decode = collect.decode
    monkeypatch.setattr(collect, "decode", lambda data: calls.append(data) or decode(data))
    return calls


def conversations(repository, *items):
    """Create a conversation of one message for each work item."""
    for number, item in enumerate(items, start=1):
        new(repository)
        say(repository, f"conv-00{number}", f"message for {item}", **({} if item is None else {"work_item": item}))


def found(repository, item="SHOP-1"):
    return [revision.conversation for revision in find_work_item(repository, item)]


def test_the_conversation_with_the_newest_message_for_it_comes_last(repository):
    """S1-18: every conversation with a message for the work item is found."""
    conversations(repository, "SHOP-1", "SHOP-2", "SHOP-1", "SHOP-1")
    say(repository, "conv-001", "and again", work_item="SHOP-1")
    assert found(repository) == ["conv-003", "conv-004", "conv-001"]


def test_messages_without_the_id_in_their_bytes_are_not_decoded(repository, decoded):
    conversations(repository, "SHOP-2", None, "SHOP-1", "SHOP-11")
    assert found(repository) == ["conv-003"]
    assert len(decoded) == 1


def test_a_message_that_only_mentions_the_id_does_not_count(repository):
    conversations(repository, None)
    say(repository, "conv-001", 'see "SHOP-1"', parts=[{"type": "tool_call", "input": {"work_item": "SHOP-1"}}])
    assert found(repository) == []


@pytest.mark.parametrize("item", ['a"b', "back\\slash", "\u00e4\u20ac", "tab\there"])
def test_an_id_with_escaped_characters_is_found(repository, item):
    conversations(repository, item)
    assert found(repository, item) == ["conv-001"]


def test_the_active_branch_is_searched(repository):
    conversations(repository, None)
    branch(repository, "conv-001", purpose="analysis", agent="bot", name="work")
    say(repository, "conv-001", "there", work_item="SHOP-1")
    [revision] = find_work_item(repository, "SHOP-1")
    assert (revision.branch, revision.oid) == ("work", list_branch_tips(repository, "conv-001")["work"])


def test_an_empty_store_has_none(repository):
    assert found(repository) == []
