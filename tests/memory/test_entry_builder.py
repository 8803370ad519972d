"""Entries with a summary by the user's command."""

from __future__ import annotations

import shlex

import pytest

from scopes.conversation.new_rename_delete import new
from scopes.memory.list import list_memory
from scopes.memory.update import update
from scopes.store.config import Setting
from scopes.store.repository import Caller, open_repository
from tests.memory.talking import say
from tests.support.store import FAST, git, open_store

FOUR = ("The login form fails.", "Safari blocks the cookie.", "We agreed on SameSite=Lax.", "- [ ] test it on Safari")


def with_summarizer(repository, command, seconds=20, origin="flag"):
    """Open the store with a summarizer command in its settings."""
    values = {"scopes.summarizer": command, "scopes.summarizerTimeout": str(seconds)}
    settings = {key: Setting(key, value, origin) for key, value in values.items()}
    return open_repository(repository.path, FAST | settings, Caller("carol", "test"))


@pytest.fixture
def script(tmp_path):
    """Write a summarizer program that counts its runs."""

    def write(body):
        program, calls = tmp_path / "my model.sh", tmp_path / "calls"
        program.write_text(f"#!/bin/sh\necho asked >> {shlex.quote(str(calls))}\n{body}\n")
        program.chmod(0o755)
        return shlex.quote(str(program)), lambda: len(calls.read_text().splitlines()) if calls.exists() else 0

    return write


def test_the_command_writes_the_summary_and_rules_everything_else(repository, script):
    command, calls = script('grep -c "the cookie" | sed "s/$/ line about cookies/"')
    say(repository, *FOUR)
    (entry,) = update(with_summarizer(repository, command)).entries
    assert (entry.summary, entry.method) == ("1 line about cookies", "command")
    assert entry.decisions == ("We agreed on SameSite=Lax.",)
    assert [item.text for item in entry.action_items] == ["test it on Safari"]
    assert list_memory(repository).entries == (entry,)
    assert calls() == 1


@pytest.mark.parametrize("body", ["exit 3", "true", "sleep 60", "kill -9 $$", "yes"])
def test_entries_are_made_by_rules_if_the_command_fails(repository, script, body):
    """S0-22; a failing command is run once, not for every branch."""
    new(repository)
    for where in ("conv-001", "conv-002"):
        say(repository, *FOUR, where=where)
    command, calls = script(body)
    done = update(with_summarizer(repository, command, seconds=1))
    assert [entry.method for entry in done.entries] == ["textrank", "textrank"]
    assert len(list_memory(repository).entries) == 2
    assert calls() == 1
    (note,) = done.notes
    assert note.text.startswith("the summarizer ")
    assert note.text.endswith("entries were made without it")
    assert "stored" not in note.text


def test_entries_by_a_command_are_stored_before_the_next_is_interrupted(repository, script):
    new(repository)
    for where in ("conv-001", "conv-002"):
        say(repository, *FOUR, where=where)
    done = update(with_summarizer(repository, script("echo short")[0]))
    assert len(done.entries) == 2
    assert len(git(repository, "log", "--format=%h", "refs/scopes/memory").split()) == 2


def test_a_command_can_write_to_the_store_while_it_runs(repository, script):
    """It runs without the store's lock; messages appended meanwhile are left for the next update."""
    say(repository, *FOUR)
    opened = with_summarizer(repository, script("echo short")[0])
    other = open_store(repository.path, actor="somebody else")
    original = opened.lock.exclusive

    def exclusive():
        opened.lock.exclusive = original
        say(other, "Said meanwhile.")
        return original()

    opened.lock.exclusive = exclusive
    (entry,) = update(opened).entries
    assert len(entry.sources.messages) == 4
    assert len(update(repository, at_once=True).entries[0].sources.messages) == 1


def test_the_command_is_not_run_with_builtin_or_from_other_settings(repository, script):
    command, calls = script("echo evil")
    say(repository, *FOUR)
    git(repository, "config", "scopes.summarizer", command)
    assert update(with_summarizer(repository, command), built_in=True).entries[0].method == "textrank"
    say(repository, *FOUR)
    assert update(with_summarizer(repository, command, origin="environment")).entries[0].method == "textrank"
    assert calls() == 0


def test_a_very_long_summary_is_cut(repository, script):
    say(repository, *FOUR)
    (entry,) = update(with_summarizer(repository, script("head -c 9000 /dev/zero | tr '\\0' x")[0])).entries
    assert (len(entry.summary), entry.summary[-1]) == (4000, "…")
