"""Suggestions for misspelled words and for words of other programs: the right one, or none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.cli.command_line import split_words
from scopes.cli.suggestion import did_you_mean, nearest, unknown_word
from scopes.cli.table import TABLE
from tests.cli.running import PRODUCT, scopes

VERBS = [node.path[-1] for node in TABLE.members(())]


def hint(words):
    return unknown_word(TABLE, split_words(TABLE, words.split(" "))).hint


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("lst", "list"),
        ("apend", "append"),
        ("conv shwo", "show"),
        ("conflicts lis", "conflicts list"),
        ("resolve", "conflicts resolve"),
        ("continue", "merge --continue"),
        ("handoff", "resume"),
        ("note", "memory add"),
        ("fork", "branch"),
        ("mv", "rename"),
        ("status", "show"),
        ("open", "show"),
        ("sessions", "list"),
        ("ps", "list"),
        ("projects", "usage --by project"),
        ("cost", "usage"),
        ("add", "append"),
        ("conv-039", "show conv-039"),
        ("conflicts conv-039", "conflicts list conv-039"),
        ("agents add", "agents register"),
        ("facts new", "facts propose"),
        ("remote rm", "remote remove"),
        ("-p", "log -p"),
        ("--stat", "show --stat"),
    ],
)
def test_a_word_suggests_the_line_that_does_it(words, meant):
    """U13."""
    assert hint(words) == f"did you mean scopes {meant}?"


@pytest.mark.parametrize("words", ["am", "gitk", "stash", "worktree", "zzzzzz"])
def test_nothing_is_suggested_for_a_word_without_an_equivalent(words):
    assert hint(words) == "see: scopes help"


def test_a_word_of_git_suggests_no_command_of_another_group():
    assert hint("agents status") == "see: scopes help agents"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("--jsn list", "--json"),
        ("list --jsn", "--json"),
        ("show -p", "scopes log -p"),
        ("list --author carol", "--agent"),
        ("merge --allow-unrelatd", "--allow-unrelated"),
    ],
)
def test_an_option_suggests_the_nearest_or_the_command_that_has_it(words, meant):
    done = scopes(*words.split(), table=PRODUCT)
    assert (done.returncode, done.stderr.splitlines()[1]) == (2, f"hint: did you mean {meant}?")


def test_at_most_three_names_are_suggested_and_case_is_ignored():
    assert nearest("lst", ["list", "last", "lest", "lost", "long"])[:1] == ["list"]
    assert len(nearest("lst", ["list", "last", "lest", "lost", "long"])) == 3
    assert nearest("LIST", VERBS)[0] == "list"
    assert nearest("", VERBS) == nearest("x", []) == []
    assert did_you_mean([], "see: scopes help") == "see: scopes help"


def test_the_error_names_the_group_and_the_word():
    refusal = unknown_word(TABLE, split_words(TABLE, ["conflicts", "x\x1by"]))
    assert refusal.message == "scopes conflicts has no command 'x\\x1by'"
    assert refusal.exit_code == 2


@given(st.sampled_from(VERBS))
def test_a_name_is_nearest_to_itself(verb):
    assert nearest(verb, VERBS)[0] == verb
