"""Hints in the words of the tools."""

from __future__ import annotations

import re

import pytest

from scopes.server.mcp.hints import agent_hint, agent_note, agent_text

COMMAND_LINE = re.compile(r"\bscopes [a-z-]|(?<![\w-])--[a-z]")


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("to keep what a task needs: --task TEXT", "to keep what a task needs: task=TEXT"),
        ("for example: --task 'login fails'", "for example: task='login fails'"),
        ("to let the message wait for them: --queue", "to let the message wait for them: queue"),
        ("--to NAME, --to @capability or --to all", "to=NAME, to=@capability or to=all"),
        ("name another branch with --source or --target", "name another branch with source or target"),
        ("raise the limit: --max-tokens N", "raise the limit: max_tokens=N"),
        ("for example: -n 50", "for example: limit=50"),
        ("to begin there: --from main", "to begin there: start=main"),
        ("for example: --as carol", "for example: author=carol"),
        (
            "find them with --any, or give another --rev than main",
            "find them with any_word, or give another revision than main",
        ),
        (
            "it is in conv-002: scopes branch conv-002 NAME --from k3x9",
            "it is in conv-002: conversation_branch conv-002 NAME start=k3x9",
        ),
        ("list them: scopes branch conv-001", "list them: conversation_show conv-001"),
        ("see: git ls-files, or give another --rev", None),
        ("list them: scopes list", "list them: conversation_list"),
        ("see: scopes log conv-001", "see: conversation_read conv-001"),
        ("list what was deleted: scopes list --deleted", None),
        ("branches of conv-001: main, try", "branches of conv-001: main, try"),
    ],
)
def test_what_a_tool_can_do_is_named_by_its_parameter(hint, expected):
    assert agent_hint(hint) == expected


@pytest.mark.parametrize(
    "hint",
    [
        "see: scopes help append",
        "change to a working tree of the project, or use: scopes -C DIR",
        "restore it: scopes undo",
        "continue or abort it: scopes merge conv-001 --continue (or --abort)",
        "for exact counts: scopes tokens fetch, or pip install 'scopes-ai[tokens]'",
        "to include its files, run the command there: cd /home/carol/shop",
        "merge them anyway with --allow-unrelated",
    ],
)
def test_what_no_tool_can_do_is_dropped(hint):
    assert agent_hint(hint) is None


def test_what_to_ask_the_user_stays_whole_also_after_what_the_agent_can_do():
    hint = "take it back with abort=true, or ask the user to abort it: scopes merge conv-001 --abort"
    assert agent_hint(hint) == hint


def test_the_clauses_that_help_stay():
    assert agent_hint("did you mean Signals? Or add Sgnals: scopes facts key add Sgnals") == "did you mean Signals?"
    assert agent_hint("decide about that one first, or give another --id; see: scopes facts show x") is None
    assert agent_hint("a source is the id of a message; see: scopes log conv-001") == (
        "a source is the id of a message; see: conversation_read conv-001"
    )
    assert agent_hint("restore it: scopes undo k3x9\nthe latest is @") == "the latest is @"


def test_a_hint_for_the_user_stays_as_it_is():
    hint = "ask the user to register it: scopes agents register codex"
    assert agent_hint(hint) == hint


def test_the_text_of_an_error_names_parameters_and_quotes_what_was_given():
    assert agent_text("an entry has at most 30 of --topic, not 31") == "an entry has at most 30 of topics, not 31"
    assert agent_text("there is no conversation '--topic'") == "there is no conversation '--topic'"


def test_a_note_loses_the_command_that_follows_it():
    text = "the history of the branch has 5 of 5 messages; continue in a new one: scopes new"
    assert agent_note(text) == "the history of the branch has 5 of 5 messages"
    assert agent_note("planer is not registered; did you mean planner?") == (
        "planer is not registered; did you mean planner?"
    )
