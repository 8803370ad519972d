"""`stats`: how large a conversation is, and who made it so."""

from __future__ import annotations

import pytest

from scopes.conversation.new import new
from scopes.conversation.stats import stats
from scopes.errors import NotFound
from tests.support.history import history, say


def test_messages_of_all_branches_are_counted_once(repository):
    history(repository, "main: a b", "fix@a: c", "same:")
    seen = stats(repository, "conv")
    assert (seen.conversation, seen.branches, seen.messages, seen.characters) == ("conv-001", 3, 3, 3)


def test_names_come_by_count_then_by_name(repository):
    new(repository)
    for author in ("dave", "carol", "erin", "dave", "carol", "dave"):
        say(repository, "conv-001", "x", author=author, kind="system" if author == "erin" else "plain")
    seen = stats(repository, "conv-001")
    assert list(seen.authors.items()) == [("dave", 3), ("carol", 2), ("erin", 1)]
    assert list(seen.kinds.items()) == [("plain", 5), ("system", 1)]
    say(repository, "conv-001", "x", author="erin")
    assert list(stats(repository, "conv-001").authors) == ["dave", "carol", "erin"]


def test_tools_models_and_files_are_counted(repository):
    new(repository)
    calls = [{"type": "tool_call", "name": "bash", "call_id": str(n), "input": {}} for n in range(2)]
    say(
        repository,
        "conv-001",
        "x",
        parts=[*calls, {"type": "tool_call"}],
        model="m1",
        files=[{"path": "a", "op": "edit"}],
    )
    say(repository, "conv-001", "y", model="m1", files=[{"path": "a", "op": "read"}, {"path": "b", "op": "read"}])
    seen = stats(repository, "conv-001")
    assert (seen.tool_calls, seen.tools) == (3, {"bash": 2, "unknown": 1})
    assert (seen.models, seen.files) == ({"m1": 2}, 2)


def test_the_duration_goes_from_the_first_to_the_last_time_whatever_their_order(repository):
    new(repository)
    for time in ("2026-02-01T12:01:00Z", "2026-02-01T12:00:00Z", "2026-02-01T12:00:30Z"):
        say(repository, "conv-001", "x", time=time)
    seen = stats(repository, "conv-001")
    assert (seen.first, seen.last, seen.duration_seconds) == ("2026-02-01T12:00:00Z", "2026-02-01T12:01:00Z", 60)


def test_characters_are_those_of_the_text_not_its_bytes(repository):
    history(repository, "main: é日🎉")
    assert stats(repository, "conv-001").characters == 3


def test_an_empty_conversation_has_no_times(repository):
    """Absent means unknown; it is never 0."""
    new(repository)
    seen = stats(repository, "conv-001")
    assert (seen.messages, seen.first, seen.last, seen.duration_seconds) == (0, None, None, None)
    assert (seen.authors, seen.tools) == ({}, {})


def test_an_unknown_conversation_is_refused(repository):
    with pytest.raises(NotFound) as refusal:
        stats(repository, "nope")
    assert refusal.value.hint
