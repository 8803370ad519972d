"""Conversations for a work item are found, in their order, without decoding what cannot be for it."""

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
    """How many messages were decoded."""
    seen = []
    decode = collect.decode
    monkeypatch.setattr(collect, "decode", lambda data: seen.append(data) or decode(data))
    return seen


def conversations(repository, *items):
    """Make a conversation of one message for each of the work items."""
    for number, item in enumerate(items, start=1):
        new(repository)
        say(repository, f"conv-00{number}", f"message for {item}", **({} if item is None else {"work_item": item}))


def found(repository, item="SHOP-1"):
    return [place.conversation for place in find_work_item(repository, item)]


def test_the_conversation_that_was_last_at_work_comes_last(repository):
    """S1-18: as many sessions as there are, decided by what they are for."""
    conversations(repository, "SHOP-1", "SHOP-2", "SHOP-1", "SHOP-1")
    say(repository, "conv-001", "and again", work_item="SHOP-1")
    assert found(repository) == ["conv-003", "conv-004", "conv-001"]


def test_what_cannot_be_for_it_is_not_decoded(repository, decoded):
    conversations(repository, "SHOP-2", None, "SHOP-1", "SHOP-11")
    assert found(repository) == ["conv-003"]
    assert len(decoded) == 1


def test_a_message_that_only_speaks_of_it_is_not_for_it(repository):
    conversations(repository, None)
    say(repository, "conv-001", 'see "SHOP-1"', parts=[{"type": "tool_call", "input": {"work_item": "SHOP-1"}}])
    assert found(repository) == []


@pytest.mark.parametrize("item", ['a"b', "back\\slash", "\u00e4\u20ac", "tab\there"])
def test_a_name_is_found_however_it_is_written_in_the_store(repository, item):
    conversations(repository, item)
    assert found(repository, item) == ["conv-001"]


def test_the_active_branch_counts(repository):
    conversations(repository, None)
    branch(repository, "conv-001", purpose="analysis", agent="bot", name="work")
    say(repository, "conv-001", "there", work_item="SHOP-1")
    [place] = find_work_item(repository, "SHOP-1")
    assert (place.branch, place.oid) == ("work", list_branch_tips(repository, "conv-001")["work"])


def test_in_an_empty_store_there_is_nothing(repository):
    assert found(repository) == []
