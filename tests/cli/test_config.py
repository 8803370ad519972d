"""`config` on the command line: git's short form, colors, hints and the editor."""

from __future__ import annotations

import json

import pytest

from tests.cli.conversation import Conversation


@pytest.fixture
def conversation(tmp_path, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Conversation(tmp_path)


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (("scopes.author",), "carol"),
        (("--get", "scopes.author"), "carol"),
        (("scopes.author", "--level", "user", "dave"), "dave"),
        (("--global", "scopes.author", "dave"), "dave"),
        (("scopes.author", "--", "-x"), "-x"),
        (("--unset", "scopes.author"), "scopes.author"),
        (("--list",), "scopes.author\tcarol\nscopes.formatversion\t2"),
    ],
)
def test_config_reads_and_writes_as_in_git(conversation, user_configuration, words, printed):
    """D9."""
    conversation.run("config", "scopes.author", "carol")
    assert conversation.run("config", *words) == f"{printed}\n"


@pytest.mark.parametrize("words", [("--unset",), ("scopes.author", "x", "--unset"), ("lits",)])
def test_a_mistake_is_refused(conversation, words):
    assert conversation.run_refused("config", *words, code=2)


def test_a_dry_run_writes_no_setting(conversation):
    assert conversation.run("config", "scopes.author", "carol", "--dry-run") == "carol\n"
    assert conversation.run_refused("config", "scopes.author", code=4)
    assert conversation.run_refused("config", "scopes.author", "--unset", "--dry-run", code=4)


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
    rows = json.loads(conversation.run_main("config", "--all", "--json").stdout)["settings"]
    assert {"key": "scopes.hints", "value": "true", "origin": "default"} in rows


def test_a_key_that_scopes_does_not_know_is_refused(conversation):
    """D9."""
    assert conversation.run_main("config", "scopes.summariser", "x").returncode == 2


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
