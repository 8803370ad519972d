"""Ranking sentences: deterministic, in order, in bounded time."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.memory.textrank import MAX_SENTENCES, choose_sentences, rank_sentences
from tests.support.examples import examples

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
@settings(max_examples=examples(100))
def test_chosen_sentences_are_in_the_order_of_the_text(sentences, count):
    chosen = choose_sentences(sentences, count)
    rest = iter(sentences)
    assert all(sentence in rest for sentence in chosen)  # consumes: in order
    assert len(chosen) <= max(count, 0)
    assert len(chosen) == len(set(chosen))


def test_connected_sentences_are_chosen():
    assert choose_sentences(TALK, 1) == [TALK[2]]
    assert TALK[1] not in choose_sentences(TALK, 3)


def test_a_sentence_with_the_same_words_is_left_out():
    assert choose_sentences([TALK[0], TALK[0], TALK[2]], 3) == [TALK[0], TALK[2]]


def test_short_sentences_are_ranked_only_without_others():
    assert choose_sentences(["Yes.", "ok"], 1) == ["Yes."]
    assert "Yes." not in choose_sentences(["Yes.", *TALK], 5)
    assert choose_sentences([], 3) == []


def test_a_very_long_sentence_is_not_chosen():
    endless = "login cookie form safari " * 100
    assert endless not in choose_sentences([endless, *TALK], 5)


def test_only_sentences_with_frequent_words_are_ranked_in_a_long_text():
    noise = [f"unique{i} lonely{i} single{i}." for i in range(3 * MAX_SENTENCES)]
    assert choose_sentences([*noise, *TALK], 1) == [TALK[2]]


def test_the_choice_does_not_depend_on_hash_seeds():
    program = f"from scopes.memory.textrank import choose_sentences; print(choose_sentences({TALK!r}, 3))"
    found = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(found) == 1


def test_a_near_duplicate_of_a_better_sentence_comes_last():
    repeated = ["The login form cookie fails on Safari today.", "The login form cookie fails on Safari."]
    ranked = rank_sentences(
        [*repeated, "The database index is slow on Linux.", "The index of the database login grows."]
    )
    assert ranked[-1] in (0, 1)
    assert sorted(ranked) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "sentences",
    [
        [
            "\u6211\u4eec\u51b3\u5b9a\u4f7f\u7528\u6570\u636e\u5e93\u3002",
            "\u6570\u636e\u5e93\u5f88\u5feb\u3002",
            "\u5929\u6c14\u5f88\u597d\u3002",
        ],
        [
            "\u05e7\u05d1\u05e2\u05e0\u05d5 \u05dc\u05d4\u05e9\u05ea\u05de\u05e9 \u05d1\u05e2\u05d5\u05d2\u05d9\u05d4 \u05d7\u05d3\u05e9\u05d4.",
            "\u05d4\u05e2\u05d5\u05d2\u05d9\u05d4 \u05d7\u05e1\u05d5\u05de\u05d4 \u05d1\u05d3\u05e4\u05d3\u05e4\u05df \u05d4\u05d7\u05d3\u05e9.",
        ],
        [
            "\u0642\u0631\u0631\u0646\u0627 \u0627\u0633\u062a\u062e\u062f\u0627\u0645 \u0642\u0627\u0639\u062f\u0629 \u0627\u0644\u0628\u064a\u0627\u0646\u0627\u062a."
        ],
        [
            "\U0001f389 ship it \U0001f680 now please",
            "\U0001f468\u200d\U0001f469\u200d\U0001f467 family",
            "\U0001f389\U0001f389\U0001f389",
        ],
        ["e\u0301tude cafe\u0301 re\u0301sume\u0301 du projet", "\u00e9tude caf\u00e9 r\u00e9sum\u00e9 du projet"],
    ],
)
def test_every_script_has_a_summary(sentences):
    assert choose_sentences(sentences, 1)[0] in sentences
    assert rank_sentences(sentences) == rank_sentences(sentences)


@given(st.lists(st.text(max_size=30), max_size=12), st.integers(0, 5))
@settings(max_examples=examples(100))
def test_every_index_is_ranked_once(sentences, count):
    ranked = rank_sentences(sentences)
    assert len(ranked) == len(set(ranked)) <= len(sentences)
    assert choose_sentences(sentences, count) == [sentences[place] for place in sorted(ranked[:count])]
