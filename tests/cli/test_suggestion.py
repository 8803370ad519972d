"""What somebody may have did_you_mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.cli.command_line import split_words
from scopes.cli.suggestion import did_you_mean, nearest, unknown_word
from scopes.cli.table import TABLE

VERBS = [node.path[-1] for node in TABLE.members(("conversations",))]


def hint(*words):
    return unknown_word(TABLE, split_words(TABLE, list(words))).hint


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_with_two_letters_swapped_is_found(verb):
    swapped = verb[0] + verb[2] + verb[1] + verb[3:]
    assert verb in nearest(swapped, VERBS)


def test_upper_case_is_no_difference():
    assert nearest("LIST", VERBS) == ["list"]


def test_only_the_nearest_are_named_and_never_more_than_three():
    assert nearest("lst", ["list", "last", "lest", "lost", "long"])[:1] == ["list"]
    assert len(nearest("lst", ["list", "last", "lest", "lost", "long"])) == 3


def test_where_nothing_is_near_nothing_is_named():
    assert nearest("zzzz", VERBS) == []
    assert nearest("", VERBS) == []
    assert nearest("x", []) == []


def test_without_a_near_word_the_hint_says_where_to_look():
    assert did_you_mean([], "see: scopes help") == "see: scopes help"
    assert did_you_mean(["a", "b"], "never") == "did you mean a or b?"


def test_a_verb_typed_without_its_group_is_spelled_in_full():
    assert hint("append") == "did you mean scopes conv append?"
    assert hint("ai", "show") == "did you mean scopes conv show?"


def test_the_short_name_at_the_top_is_suggested_as_it_is_typed():
    assert hint("udno") == "did you mean scopes undo?"


def test_a_setting_verb_is_looked_for_in_its_group():
    assert hint("config", "gte") in {
        "did you mean scopes config get?",
        "did you mean scopes config set or scopes config get?",
    }


def test_the_refusal_names_the_group_and_the_word():
    refusal = unknown_word(TABLE, split_words(TABLE, ["conv", "x\x1by"]))
    assert refusal.message == "scopes conv has no command 'x\\x1by'"
    assert refusal.exit_code == 2


@given(st.text(max_size=12))
def test_what_is_suggested_exists_whatever_was_typed(word):
    assert set(nearest(word, VERBS)) <= set(VERBS)


@given(st.sampled_from(VERBS))
def test_a_name_is_nearest_to_itself(verb):
    assert nearest(verb, VERBS)[0] == verb
