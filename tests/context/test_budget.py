"""`budget` divides a context window into parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.context.budget import MAX_WINDOW, PRESETS, divide, parse_shares, plan_budget
from scopes.errors import Invalid


def test_the_example_of_200_000_tokens():
    """S1-13."""
    result = plan_budget(200_000)
    assert result.parts == {"content": 120_000, "response": 40_000, "overhead": 40_000}
    assert result.content_parts == {"files": 60_000, "history": 36_000, "metadata": 24_000}


def test_the_preset_zen_changes_at_300_000_tokens():
    """S1-14."""
    small, large = plan_budget(200_000, "zen"), plan_budget(1_000_000, "zen")
    assert (small.parts, large.parts) == (
        {"content": 120_000, "response": 80_000},
        {"content": 800_000, "response": 200_000},
    )
    assert (small.content_parts["history"], large.content_parts["history"]) == (60_000, 320_000)
    assert plan_budget(300_000, "zen").parts["content"] == 240_000


@given(st.integers(0, 10_000_000), st.sampled_from(PRESETS))
def test_the_parts_add_up_to_every_window(window, preset):
    result = plan_budget(window, preset)
    assert sum(result.parts.values()) == window
    assert sum(result.content_parts.values()) == result.parts["content"]
    assert min(*result.parts.values(), *result.content_parts.values()) >= 0


def test_the_remainder_goes_to_the_first_parts():
    assert plan_budget(7).parts == {"content": 5, "response": 1, "overhead": 1}


@pytest.mark.parametrize("window", [-1, MAX_WINDOW + 1])
def test_a_negative_or_huge_window_is_refused(window):
    with pytest.raises(Invalid):
        plan_budget(window)


def test_an_unknown_preset_is_refused_with_a_list_of_presets():
    with pytest.raises(Invalid) as refusal:
        plan_budget(1, "big")
    assert refusal.value.hint == "presets: default, zen"


def test_settings_change_the_shares():
    """S1-14."""
    shares = parse_shares("70/20/10", None)
    made = plan_budget(1001, default=shares)
    assert (made.parts, sum(made.content_parts.values())) == ({"content": 701, "response": 200, "overhead": 100}, 701)
    assert parse_shares(None, "10/80/10").content == {"files": 10, "history": 80, "metadata": 10}


@pytest.mark.parametrize("text", ["60/20", "60/20/21", "a/b/c", "-10/60/50", "", "50/30/20/0"])
def test_shares_that_do_not_add_up_are_refused(text):
    with pytest.raises(Invalid, match="budgetWindow"):
        parse_shares(text, None)


@given(st.integers(0, 10**9), st.lists(st.integers(1, 100), min_size=1, max_size=6))
def test_any_shares_divide_a_number_exactly(tokens, weights):
    """S1-14: the remainder goes to the first parts, one token each."""
    left = 100
    percent = {}
    for number, weight in enumerate(weights[:-1]):
        percent[f"part-{number}"] = share = min(left, weight)
        left -= share
    percent["rest"] = left
    parts = divide(tokens, percent)
    assert (sum(parts.values()), list(parts)) == (tokens, list(percent))
    assert all(0 <= parts[name] - tokens * share // 100 <= 1 for name, share in percent.items())
