"""Helpers: append messages to the conversation of the tests, and count words as tokens."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from scopes.conversation.append import append
from scopes.history.messages import plain_message
from scopes.model.message import Author

CONVERSATION = "conv-001"


def say(repository, *texts, author="planner", author_kind="agent", kind="plain", branch=None, where=CONVERSATION):
    """Append texts and return their ids."""
    return [
        append(repository, where, plain_message(Author(author, author_kind), text, kind=kind), branch=branch).id
        for text in texts
    ]


def decide(repository, topic, decision, author="lead"):
    """Append a typed decision and return its id."""
    return append(repository, CONVERSATION, typed_decision(topic, decision, author)).id


def typed_decision(topic, decision, author="lead"):
    """Return a message with a decision."""
    message = plain_message(author, f"On {topic}: {decision}", kind="decision")
    return replace(message, payload={"topic": topic, "decision": decision})


def words(text):
    """Count the words of a text, as its tokens."""
    return len(text.split())


WORDS = SimpleNamespace(method="exact", count=words, prepare=list)
