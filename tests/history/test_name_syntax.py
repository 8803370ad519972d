"""The text of names: steps back, positions, times and prefixes; nothing is looked up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import Ambiguous, NotFound
from scopes.history.names import could_be_id, match_prefix, parse_latest, split_steps, split_time


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("@", 0),
        ("@-", 1),
        ("@{0}", 0),
        ("@{1}", 1),
        ("@{007}", 7),
        ("@{999999999}", 999999999),
        ("@{1234567890}", None),
        ("@{-1}", None),
        ("@{}", None),
        ("@{ 1 }", None),
        ("@{1}~1", None),
        ("@@", None),
        ("@--", None),
        ("main@{1}", None),
        ("@\n", None),
        ("@{١}", None),  # noqa: RUF001 - a digit, but not one of these ten
        ("", None),
    ],
)
def test_a_position_among_the_latest_is_a_number_from_0(text, position):
    assert parse_latest(text) == position


@pytest.mark.parametrize(
    ("text", "name", "time"),
    [
        ("main@{2 hours ago}", "main", "2 hours ago"),
        ("conv-001/main@{1}", "conv-001/main", "1"),
        ("main@{}", "main", ""),
        ("@{2 hours ago}", "", "2 hours ago"),
        ("@{2}", "@{2}", None),
        ("@", "@", None),
        ("main", "main", None),
        ("main@{1", "main@{1", None),
        ("main@1}", "main@1}", None),
        ("main@{1}x", "main@{1}x", None),
        ("a@{1}@{2}", "a@{1}", "2"),
        ("a@{{1}}", "a@{{1}}", None),
        ("a\nb@{1}", "a\nb", "1"),
        ("", "", None),
    ],
)
def test_a_time_is_in_braces_at_the_end(text, name, time):
    assert split_time(text) == (name, time)


@pytest.mark.parametrize(
    ("text", "name", "steps"),
    [
        ("main", "main", 0),
        ("main~", "main", 1),
        ("main^", "main", 1),
        ("main~0", "main", 0),
        ("main~3", "main", 3),
        ("main~~^^", "main", 4),
        ("main~1~2^3", "main", 6),
        ("main~007", "main", 7),
        ("v1.0", "v1.0", 0),
        ("v10~2", "v10", 2),
        ("2026", "2026", 0),
        ("a~b", "a~b", 0),
        ("a~1b", "a~1b", 0),
        ("a~b~2", "a~b", 2),
        ("~2", "", 2),
        ("~", "", 1),
        ("", "", 0),
        ("main~-1", "main~-1", 0),
        ("@{1}~2", "@{1}", 2),
        ("main~" + "9" * 50, "main", 10**9),
    ],
)
def test_steps_back_are_at_the_end_and_add_up(text, name, steps):
    assert split_steps(text) == (name, steps)


@given(
    st.text(alphabet="ab/-.", max_size=6), st.lists(st.sampled_from(["~", "^", "~0", "~2", "^1", "~10"]), max_size=5)
)
def test_a_name_and_its_steps_are_separated_again(name, steps):
    numbers = [int(step[1:] or 1) for step in steps]
    assert split_steps(name + "".join(steps)) == (name, sum(numbers))


@given(st.text(max_size=30))
def test_any_text_is_its_name_and_its_steps(text):
    name, steps = split_steps(text)
    assert text.startswith(name)
    assert (steps > 0) <= (name != text)
    assert set(text[len(name) :]) <= set("~^0123456789")


@given(st.text(alphabet="a@{}1~ ", max_size=12))
def test_any_text_is_its_name_and_its_time(text):
    name, time = split_time(text)
    assert text == (name if time is None else f"{name}@{{{time}}}")


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", False),
        ("a", False),
        ("a1b", False),
        ("a1b2", True),
        ("deadbeef", True),
        ("zzzz", True),
        ("A1B2", False),
        ("A1", False),
        ("a-b2", False),
        ("a b2", False),
        ("é1b2", False),
        ("²²²²", False),
        ("0000", True),
    ],
)
def test_an_id_has_four_or_more_small_letters_and_digits_of_ascii(text, whole):
    assert could_be_id(text) is whole


@pytest.mark.parametrize(
    ("text", "known", "found"),
    [
        ("a", ["a", "ab", "abc"], "a"),
        ("ab", ["abc", "b"], "abc"),
        ("abc", ["abc", "abcd"], "abc"),
        ("", ["only"], "only"),
    ],
)
def test_an_equal_candidate_or_the_only_longer_one_is_meant(text, known, found):
    assert match_prefix(text, iter(known), "thing", None) == found


def test_several_candidates_are_sorted_and_at_most_eight_are_named():
    with pytest.raises(Ambiguous, match=r"'x' matches several: x0, x1, x2$"):
        match_prefix("x", ["x2", "x0", "x1", "y"], "thing", None)
    with pytest.raises(Ambiguous, match=r"x0, x1, x2, x3, x4, x5, x6, x7 and 1 more$"):
        match_prefix("x", [f"x{number}" for number in range(9)], "thing", None)


@pytest.mark.parametrize(
    ("text", "known", "hint"),
    [
        ("maim", ["main", "fix"], "did you mean main?"),
        ("zzz", ["main"], "the general hint"),
        ("zzz", [], "the general hint"),
    ],
)
def test_an_unknown_name_has_the_nearest_ones_as_its_hint(text, known, hint):
    with pytest.raises(NotFound, match=f"there is no branch '{text}'") as refusal:
        match_prefix(text, known, "branch", "the general hint")
    assert refusal.value.hint == hint
