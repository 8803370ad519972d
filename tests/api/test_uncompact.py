"""Compactions in a program: contexts start at the first message again, as `scopes retract` of them does."""

from __future__ import annotations

import pytest

import scopes


@pytest.fixture
def compacted(conversation):
    """A conversation with two compactions, each after a message."""
    conversation.compactions = []
    for text in ("The cookie is set twice.", "A token would do."):
        conversation.append("main", text)
        conversation.compactions.append(conversation.run("summarize", conversation.id, "--compact", "--json")["id"])
    return conversation


OPTIONS = {
    (): {},
    ("--last",): {"only_last": True},
    ("--dry-run",): {"dry_run": True},
    ("--reason", "it forgot the schema", "--as", "erin"): {"reason": "it forgot the schema", "author": "erin"},
}


@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_compactions_are_taken_back(compacted, talk, words):
    done = talk.uncompact(**OPTIONS[words])
    assert isinstance(done, scopes.Uncompacted)
    expected = compacted.compactions[::-1][: 1 if "--last" in words else 2]
    assert [head.id for head in done.compactions] == expected
    assert done.remaining == (compacted.compactions[0] if "--last" in words else None)


def test_contexts_start_at_the_first_message_again_until_it_is_undone(compacted, store, talk):
    first = "How shall we do it?"
    assert first not in [turn.text for turn in talk.context().messages]
    talk.uncompact("main", reason="it forgot the schema")
    assert first in [turn.text for turn in talk.context().messages]
    assert [message.text for message in talk.log(limit=2)] == ["it forgot the schema"] * 2
    store.undo()
    assert first not in [turn.text for turn in talk.context().messages]


def test_a_branch_without_a_compaction_is_refused(compacted, talk):
    with pytest.raises(scopes.Refused, match="conv-001/fix has no compaction"):
        talk.uncompact("fix")
    talk.uncompact()
    with pytest.raises(scopes.Refused, match="conv-001/main has no compaction"):
        talk.uncompact()
