"""Topics are names, and not words that all conversations share."""

from __future__ import annotations

import pytest

from scopes.history.messages import plain_message
from scopes.memory.source_messages import SourceMessage
from scopes.memory.topics import CommonWords, topics_of


def sources(*texts):
    return [SourceMessage(None, plain_message("planner", text)) for text in texts]


def test_words_of_every_conversation_are_not_topics():
    """Issue 10: entries of real sessions had the topics check, tests, agents, cli, green, already."""
    noise = "I check the tests again, the agents are green already and the cli works."
    assert topics_of(sources(*[noise] * 8)) == ()


def test_changed_files_and_symbols_come_before_phrases_and_words():
    messages = sources(*["I fix `checkRemoteMetadata()` so that the shadow branch is fetched."] * 8)
    topics = topics_of(messages, ["src/resume.go", "src/fetch.go", "src/other.go"])
    assert topics[:3] == ("resume.go", "fetch.go", "checkRemoteMetadata()")
    assert "shadow" in " ".join(topics)
    assert len(topics) <= 6


def test_a_name_in_one_message_of_a_long_conversation_is_not_a_topic():
    messages = sources("See `onceNamed` there.", *["The `oftenNamed` fails."] * 7)
    assert topics_of(messages)[0] == "oftenNamed"
    assert "onceNamed" not in topics_of(messages)


@pytest.mark.parametrize("text", ["at `1a2b3c4d5e6f` of", "run `go test ./... | tail` now", "the `x` and the `ok`"])
def test_hashes_and_commands_are_not_symbols(text):
    assert not any(mark in "".join(topics_of(sources(text))) for mark in ("1a2b", "tail"))


def test_words_that_many_conversations_share_are_common():
    conversations = [sources(f"The ferret sleeps, says wombat{number}.") for number in range(6)]
    words = CommonWords()
    found = []
    for messages in conversations:
        words.add(messages)
        found.append(words.find())
    assert {"ferret", "sleeps"} <= found[-1]
    assert "wombat1" not in found[-1]
    assert found[3] == frozenset()
    assert topics_of(conversations[1], common=found[-1]) == ("wombat1",)
