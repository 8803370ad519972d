"""Suggestions for misspelled words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.cli.command_line import split_words
from scopes.cli.suggestion import did_you_mean, nearest, suggest_member, unknown_word
from scopes.cli.table import TABLE
from scopes.errors import Busy, Invalid
from tests.cli.running import PRODUCT, scopes

VERBS = [node.path[-1] for node in TABLE.members(("conversations",))]


def hint(*words):
    return unknown_word(TABLE, split_words(TABLE, list(words))).hint


@pytest.mark.parametrize("verb", VERBS)
def test_a_command_with_two_letters_swapped_is_found(verb):
    swapped = verb[0] + verb[2] + verb[1] + verb[3:]
    assert verb in nearest(swapped, VERBS)


def test_case_is_ignored():
    assert nearest("LIST", VERBS) == ["list"]


def test_at_most_three_names_are_suggested():
    assert nearest("lst", ["list", "last", "lest", "lost", "long"])[:1] == ["list"]
    assert len(nearest("lst", ["list", "last", "lest", "lost", "long"])) == 3


def test_nothing_is_suggested_for_a_word_unlike_any_name():
    assert nearest("zzzz", VERBS) == []
    assert nearest("", VERBS) == []
    assert nearest("x", []) == []


def test_without_a_suggestion_the_fallback_is_the_hint():
    assert did_you_mean([], "see: scopes help") == "see: scopes help"
    assert did_you_mean(["a", "b"], "never") == "did you mean a or b?"


def test_a_command_of_the_default_group_is_suggested_in_the_form_that_was_typed():
    assert hint("apend") == "did you mean scopes append?"
    assert hint("conv", "shwo") == "did you mean scopes show?"


def test_a_lifted_command_is_suggested_by_its_short_name():
    assert hint("udno") == "did you mean scopes undo?"


def test_a_command_of_a_group_is_suggested_from_that_group():
    assert hint("config", "gte") in {
        "did you mean scopes config get?",
        "did you mean scopes config set or scopes config get?",
    }


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("resolve", "conflicts resolve"),
        ("continue", "merge --continue"),
        ("abort", "merge --abort"),
        ("handoff", "resume"),
        ("note", "memory add"),
        ("fork", "branch"),
        ("mv", "rename"),
    ],
)
def test_a_word_of_another_program_suggests_the_command_that_does_it(word, meant):
    assert hint(word) == f"did you mean scopes {meant}?"


@pytest.mark.parametrize("word", ["am", "gitk", "stash"])
def test_nothing_is_suggested_for_a_command_of_git_without_an_equivalent(word):
    assert hint(word) == "see: scopes help"


def test_the_error_names_the_group_and_the_word():
    refusal = unknown_word(TABLE, split_words(TABLE, ["conv", "x\x1by"]))
    assert refusal.message == "scopes has no command 'x\\x1by'"
    assert refusal.exit_code == 2


@given(st.text(max_size=12))
def test_every_suggestion_exists(word):
    assert set(nearest(word, VERBS)) <= set(VERBS)


@given(st.sampled_from(VERBS))
def test_a_name_is_nearest_to_itself(verb):
    assert nearest(verb, VERBS)[0] == verb


def test_a_group_suggests_its_own_word_for_adding_something():
    """`agents add x` suggested `scopes append`."""
    assert hint("agents", "add") == "did you mean scopes agents register?"
    assert hint("facts", "new") == "did you mean scopes facts propose?"
    assert hint("proposals", "add") == "did you mean scopes proposals create?"
    assert hint("add") == "did you mean scopes append?"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("hooks instal", "hooks install"),
        ("mcp instal", "mcp install"),
        ("mcp remov gemini", "mcp remove"),
        ("acp lgo", "acp log"),
        ("acp stat --since x", "acp stats"),
        ("collaborate shwo", "collaborate show"),
    ],
)
def test_a_command_is_suggested_also_where_the_group_is_a_command_itself(words, meant):
    done = scopes(*words.split(), table=PRODUCT)
    assert done.returncode in {2, 4}
    assert f"hint: did you mean scopes {meant}?\n" in done.stderr


@pytest.mark.parametrize("words", ["mcp 7", "acp opencode", "mcp --htp", "acp", "collaborate --type x instal", "bogus"])
def test_other_mistakes_keep_their_hints(words):
    error = Invalid("wrong", hint="as it was")
    suggest_member(TABLE, words.split(), error)
    assert error.hint == "as it was"


def test_an_error_that_is_no_mistake_of_the_user_keeps_its_hint():
    error = Busy("busy", hint="as it was")
    suggest_member(TABLE, ["mcp", "instal"], error)
    assert error.hint == "as it was"


def test_a_word_of_git_suggests_no_command_of_another_group():
    """`agents status` is not `show`."""
    assert hint("agents", "status") == "see: scopes help agents"
    assert hint("conv", "status") == hint("status") == "did you mean scopes show?"


def test_words_of_git_remote_are_pointed_to_ours():
    assert hint("remote", "rm") == "did you mean scopes remote remove?"
    assert hint("remote", "get-url") == "did you mean scopes remote set-url?"
