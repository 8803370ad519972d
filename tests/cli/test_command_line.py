"""Splitting a command line into options, command and arguments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.cli.command_line import expects_value, is_option, split_words
from scopes.cli.table import HELP, TABLE, VERSION

APPEND = ("append",)


@pytest.mark.parametrize(
    "typed",
    ["ai conversations append", "ai conv append", "conversations append", "conv append"],
)
def test_every_name_of_a_group_leads_to_the_same_command(typed):
    line = split_words(TABLE, [*typed.split(), "conv-001", "hello"])
    assert line.command is not None
    assert line.command.path == APPEND
    assert line.rest == ["conv-001", "hello"]


def test_top_level_commands_are_found_with_and_without_ai():
    assert split_words(TABLE, ["undo"]).path == ("undo",)
    assert split_words(TABLE, ["ai", "undo"]).path == ("undo",)


def test_a_command_in_a_nested_group_is_found():
    line = split_words(TABLE, ["conv", "operations", "x"])
    assert line.path == ("operations",)
    assert line.rest == ["x"]


@pytest.mark.parametrize(
    "leading", [["-C", "dir"], ["-Cdir"], ["--store=x"], ["--store", "x"], ["-qv"], ["-qC", "dir"]]
)
def test_options_before_the_command_keep_their_values(leading):
    line = split_words(TABLE, [*leading, "conv", "append", "x"])
    assert line.leading == leading
    assert line.path == APPEND
    assert line.rest == ["x"]


def test_options_between_group_and_command_are_global_options():
    line = split_words(TABLE, ["conv", "--json", "append", "-q"])
    assert line.leading == ["--json"]
    assert line.rest == ["-q"]


def test_words_after_the_command_are_not_parsed():
    rest = ["--", "--json", "-x", "", "undo"]
    assert split_words(TABLE, ["conv", "append", *rest]).rest == rest


@pytest.mark.parametrize("word", ["appendd", "", "-", "--", "--bogus", "-x", "-Cx/../y="])
def test_an_unknown_word_is_reported(word):
    line = split_words(TABLE, ["conv", word])
    assert line.unknown == (None if word.startswith("-C") else word)
    assert line.command is None


@pytest.mark.parametrize("names", [HELP.names, VERSION.names])
def test_help_and_version_are_recognized_everywhere_but_as_a_value(names):
    for words in (["conv", names[0]], [names[1]], ["log", "x", names[1]]):
        assert split_words(TABLE, words).has(names)
    assert not split_words(TABLE, ["-C", names[1], "log"]).has(names)
    assert not split_words(TABLE, ["log", "--", names[1]]).has(names)


def test_a_final_option_without_its_value_is_reported():
    assert split_words(TABLE, ["--store"]).missing_value == "--store"
    assert split_words(TABLE, ["--store", "x"]).missing_value is None


def test_only_an_option_with_a_separate_value_expects_one():
    assert [w for w in ("-C", "-Cx", "--store", "--store=x", "-qC", "-q", "--json", "-x") if expects_value(w)] == [
        "-C",
        "--store",
        "-qC",
    ]
    assert is_option("-qC")
    assert not is_option("--nothing")


WORDS = st.lists(
    st.sampled_from(["ai", "conv", "append", "undo", "--json", "-C", "--store", "-x", "--", "", "list"]) | st.text()
)


@given(WORDS)
def test_no_word_is_lost_whatever_is_typed(words):
    line = split_words(TABLE, words)
    assert len(line.leading) + len(line.typed) + len(line.rest) == len(words)
    assert sorted([*line.leading, *line.typed, *line.rest]) == sorted(
        "version" if w == "--version" and "version" in line.typed else w for w in words
    )
