"""`config` on the command line: git's short form, colors, hints and the editor."""

from __future__ import annotations

import json

import pytest

from scopes.cli.command_line import expand_words
from scopes.cli.table import TABLE
from tests.cli.conversation import Conversation


@pytest.fixture
def conversation(tmp_path, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Conversation(tmp_path)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("config scopes.author", "get"),
        ("config scopes.author carol", "set"),
        ("config scopes.author carol --level user", "set"),
        ("config scopes.author --level user carol", "set"),
        ("config scopes.author -- -x", "set"),
        ("--store x config scopes.author --json", "get"),
    ],
)
def test_config_without_a_command_reads_or_writes_as_in_git(words, command):
    """D9."""
    before, key, after = words.partition("scopes.author")
    expected = [*before.split(), command, key, *after.split()]
    assert expand_words(TABLE, words.split())[0] == expected


@pytest.mark.parametrize("words", ["config lits", "config --x.y", "log scopes.author"])
def test_other_words_are_not_changed(words):
    assert expand_words(TABLE, words.split())[0] == words.split()


def test_a_written_setting_has_the_value_that_it_replaced(conversation):
    first = conversation.run("config", "scopes.color", "never", "--json")
    second = conversation.run("config", "scopes.color", "always", "--json")
    removed = conversation.run("config", "--unset", "scopes.color", "--json")
    assert [document.get("before") for document in (first, second, removed)] == [None, "never", "always"]


def test_config_key_value_writes_and_config_key_reads(conversation):
    """D9."""
    assert conversation.run_main("config", "scopes.author", "carol").stdout == "carol\n"
    assert conversation.run_main("config", "scopes.author").stdout == "carol\n"


def test_config_list_has_defaults_with_their_origin(conversation):
    """D9."""
    rows = conversation.run_main("config", "--all", "--show-origin").stdout.splitlines()
    assert "scopes.lockTimeout\t30\tdefault" in rows
    rows = json.loads(conversation.run_main("config", "--defaults", "--json").stdout)["settings"]
    assert {"key": "scopes.hints", "value": "true", "origin": "default"} in rows


def test_force_sets_a_key_that_scopes_does_not_know(conversation):
    """D9."""
    assert conversation.run_main("config", "scopes.summariser", "x").returncode == 2
    assert conversation.run_main("config", "scopes.summariser", "x", "--force").returncode == 0


def test_the_color_setting_is_used_unless_the_option_is_given(conversation):
    """D9."""
    conversation.run_main("append", conversation.id, "hello")
    show = ("show", conversation.id)
    assert "\x1b[" not in conversation.run_main(*show).stdout
    conversation.run_main("config", "scopes.color", "always")
    assert "\x1b[" in conversation.run_main(*show).stdout
    assert "\x1b[" not in conversation.run_main(*show, "--color", "auto").stdout


def test_a_variable_of_the_environment_overrides_the_color_setting(conversation, monkeypatch):
    conversation.run_main("append", conversation.id, "hello")
    conversation.run_main("config", "scopes.color", "always")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in conversation.run_main("show", conversation.id).stdout


def test_a_setting_of_an_agent_that_is_not_registered_is_noted(conversation):
    """The program was never run, and nothing said so."""
    conversation.run("agents", "register", "critic")
    setting = ("config", "scopes.agent.{}.delivery", "cat", "--level", "user", "--json")
    notes = {}
    for name in ("critic", "critik", "bob"):
        words = (word.format(name) for word in setting)
        notes[name] = conversation.run(*words).get("notes", [])
    assert notes["critic"] == []
    assert notes["critik"][0]["text"].startswith("no agent critik is registered")
    assert [notes[name][0]["hint"] for name in ("critik", "bob")] == [
        "did you mean critic?",
        "register it: scopes agents register bob",
    ]
