"""`append` tells when a conversation has reached its limits (S1-24); it never refuses a message for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.conversation.append import append
from scopes.conversation.new_rename_delete import new
from scopes.history.messages import plain_message
from scopes.store.config import Setting
from tests.support.store import make_store, open_store


@pytest.fixture
def limited(tmp_path):
    """A store whose conversations should have two messages at most, and be idle for an hour at most."""
    settings = {"scopes.maxturns": Setting("scopes.maxTurns", "2", "flag")}
    settings["scopes.idleseconds"] = Setting("scopes.idleSeconds", "3600", "flag")
    repository = open_store(make_store(tmp_path / "store.git").path, overrides=settings)
    new(repository)
    return repository


def test_what_is_left_is_reported_and_nothing_is_refused(limited):
    """S1-24."""
    results = [append(limited, "conv-001", plain_message("carol", str(number))) for number in range(3)]
    assert [result.remaining_turns for result in results] == [1, 0, 0]
    assert [[note.text for note in result.notes] for result in results] == [
        [],
        ["the history of the branch has 2 of 2 messages (scopes.maxTurns)"],
        ["the history of the branch has 3 of 2 messages (scopes.maxTurns)"],
    ]  # fmt: skip


def test_a_long_pause_is_a_note(limited):
    """S1-24."""
    early = plain_message("carol", "hello")
    append(limited, "conv-001", early)
    later = append(limited, "conv-001", replace(plain_message("carol", "again"), time="2026-01-02T00:00:00Z"))
    assert [note.text.split(" for ")[0] for note in later.notes][-1] == "the branch was idle"


def test_without_limits_nothing_is_counted(repository):
    new(repository)
    assert append(repository, "conv-001", plain_message("carol", "hello")).remaining_turns is None
