"""A history that is larger than the window: the newest turns are whole, a block stands for those before."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scopes.errors import Invalid
from scopes.handover.session import fit_turns, list_turns
from tests.handover.native_sessions import AGENT, HUMAN, SHOP, TOOL, call, message, result, text

TURNS = list_turns(SHOP).turns


def count(words):
    return len(words.split())


def block(message, tokens):
    return f"before {message[-2:]} " + "x " * (tokens - 2)


def test_a_history_that_fits_is_as_it_was():
    found = fit_turns(TURNS, 1000, count, block)
    assert (found.turns, found.left_out) == (TURNS, 0)


def test_of_a_larger_one_the_newest_turns_follow_a_block_about_those_before():
    turns = list_turns([*SHOP, message(5, HUMAN, text("and " * 20)), message(6, AGENT, text("done"))]).turns
    found = fit_turns(turns, 60, count, block)
    first, *rest = found.turns
    assert rest == turns[-2:]
    assert (first.role, first.message) == ("user", SHOP[3].id)
    assert first.text.startswith(f"before {SHOP[3].id[-2:]}")
    assert (found.left_out, found.tokens <= 60) == (4, True)


def test_what_is_kept_begins_with_an_answer_if_no_prompt_is_among_it():
    long = [message(0, HUMAN, text("x " * 90)), *SHOP[1:]]
    found = fit_turns(list_turns(long).turns, 80, count, block)
    assert [turn.role for turn in found.turns[:2]] == ["user", "assistant"]


def test_if_not_even_the_newest_turn_fits_the_error_says_how_many_tokens_are_needed():
    with pytest.raises(Invalid, match="20 tokens have no room for the newest messages") as error:
        fit_turns(list_turns([SHOP[0], message(1, HUMAN, text("x " * 50))]).turns, 20, count, block)
    needed = int(error.value.hint.rpartition(" ")[2])
    assert fit_turns(list_turns([SHOP[0], message(1, HUMAN, text("x " * 50))]).turns, needed, count, block).turns


@given(sizes=st.lists(st.integers(1, 30), min_size=1, max_size=12), limit=st.integers(20, 200))
def test_the_limit_holds_and_no_result_is_without_its_call(sizes, limit):
    messages = [message(0, HUMAN, text("start"))]
    for size in sizes:
        name = f"c{len(messages)}"
        messages.append(message(len(messages), AGENT, text("x " * size), call(name)))
        messages.append(message(len(messages), TOOL, result(name, "y " * size)))
    try:
        found = fit_turns(list_turns(messages).turns, limit, count, block)
    except Invalid:
        assume(False)
    assert found.tokens <= limit
    calls = {each.id for turn in found.turns for each in turn.calls}
    assert {each.id for turn in found.turns for each in turn.results} == calls
