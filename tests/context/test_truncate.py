"""A text is truncated to a number of tokens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scopes.context.truncate import cut_to_fit
from scopes.sanitize import TRUNCATED


def words(text):
    return len(text.split())


def test_a_prefix_is_kept_with_a_mark():
    assert cut_to_fit("one two three four five six", 5, words) in {
        f"one two three\n{TRUNCATED}",
        f"one two thr\n{TRUNCATED}",
    }


def test_if_the_mark_does_not_fit_the_result_is_none():
    assert cut_to_fit("one two", 1, words) is None


@given(st.text(max_size=400), st.integers(0, 300))
def test_a_truncated_text_always_fits(text, room):
    cut = cut_to_fit(text, room, len)
    assert cut is None or len(cut) <= room


@given(st.integers(100, 2000))
def test_almost_all_of_the_room_is_used(room):
    cut = cut_to_fit("word " * 1000, room, words)
    assert cut is not None
    assert words(cut) >= min(room * 0.95, 1000) - 2
