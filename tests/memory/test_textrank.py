"""Choosing sentences: only such as were there, in order, the same every time, in bounded work."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.memory.textrank import MOST_SENTENCES, choose_sentences

WORDS = ["login", "cookie", "form", "redirect", "safari", "database", "index", "the", "of", "and"]
SENTENCES = st.lists(st.lists(st.sampled_from(WORDS), min_size=0, max_size=7).map(" ".join), max_size=14)
TALK = [
    "The login form fails on Safari.",
    "Nice weather for a walk in the park.",
    "Safari blocks the cookie that the login form sets.",
    "The cookie of the login form needs SameSite=Lax.",
    "Lunch was pasta.",
]


@given(SENTENCES, st.integers(-1, 20))
@settings(max_examples=100)
def test_a_summary_is_sentences_of_its_text_in_order(sentences, count):
    chosen = choose_sentences(sentences, count)
    rest = iter(sentences)
    assert all(sentence in rest for sentence in chosen)  # consumes: in order
    assert len(chosen) <= max(count, 0)
    assert len(chosen) == len(set(chosen))


def test_what_hangs_together_is_chosen():
    assert choose_sentences(TALK, 1) == [TALK[2]]
    assert TALK[1] not in choose_sentences(TALK, 3)


def test_a_sentence_that_repeats_another_is_left_out():
    assert choose_sentences([TALK[0], TALK[0], TALK[2]], 3) == [TALK[0], TALK[2]]


def test_short_ones_count_only_where_there_is_nothing_else():
    assert choose_sentences(["Yes.", "ok"], 1) == ["Yes."]
    assert "Yes." not in choose_sentences(["Yes.", *TALK], 5)
    assert choose_sentences([], 3) == []


def test_a_sentence_of_a_page_is_not_chosen():
    endless = "login cookie form safari " * 100
    assert endless not in choose_sentences([endless, *TALK], 5)


def test_of_a_long_history_only_the_telling_sentences_take_part():
    noise = [f"unique{i} lonely{i} single{i}." for i in range(3 * MOST_SENTENCES)]
    assert choose_sentences([*noise, *TALK], 1) == [TALK[2]]


def test_the_choice_does_not_hang_on_the_order_of_sets():
    program = f"from scopes.memory.textrank import choose_sentences; print(choose_sentences({TALK!r}, 3))"
    found = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(found) == 1
