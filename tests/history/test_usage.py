"""Adding up the token counts recorded in messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.history.activity import Tokens, add_up, tokens_of
from scopes.ids import MessageId
from scopes.model.message import Author, Message

COUNT = st.none() | st.integers(0, 10**12)
TOKENS = st.builds(Tokens, st.integers(1, 9), COUNT, COUNT, COUNT, COUNT, COUNT)


def answer(usage):
    """Return an answer with the given usage."""
    return Message(id=MessageId("a" * 26), author=Author("m"), parts=(), kind="answer", extra={"usage": usage})


def test_recorded_counts_are_read_and_missing_ones_are_unknown():
    assert tokens_of(answer({"output": 7, "cache_read": 0, "raw": {"x": 1}})) == Tokens(1, cache_read=0, output=7)


@pytest.mark.parametrize(
    "usage", [None, 7, "many", [], {}, {"raw": {"output": 7}}, {"output": True}, {"output": -1}, {"output": "7"}]
)
def test_an_invalid_usage_costs_nothing(usage):
    assert tokens_of(answer(usage)) is None


def test_a_message_that_records_nothing_costs_nothing():
    assert tokens_of(Message(id=MessageId("a" * 26), author=Author("m"), parts=(), kind="answer")) is None


def test_input_tokens_include_cached_ones():
    assert Tokens(1, 3, 100, 20, 5).input == 123
    assert Tokens(1, cache_read=100).input == 100
    assert Tokens(1, output=5).input is None


@given(st.lists(TOKENS, min_size=1))
def test_sums_contain_only_known_counts(tokens):
    """Absent means unknown; it is never 0."""
    total = add_up(tokens)
    for column in range(6):
        known = [each[column] for each in tokens if each[column] is not None]
        assert total[column] == (sum(known) if known else None)


def test_the_sum_of_no_usages_is_unknown():
    assert add_up([]) is None
