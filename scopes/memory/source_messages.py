"""What a summary or an entry is made of: the messages that say something, as they stand today.

A message that was amended counts by its new text, one that was retracted not at all; what programs put in (tool
results, system texts, notices) and former summaries are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from scopes.history.messages import MessageHead, read_message, walk_heads_newest_first, walk_heads_oldest_first
from scopes.history.staleness import SILENT, SUMMARIES
from scopes.ids import MessageId, Oid, is_oid
from scopes.memory.todo_lists import find_plan
from scopes.model.message import Message
from scopes.store.graph import is_ancestor, walk_newest_first
from scopes.store.repository import Repository


class SourceMessage(NamedTuple):
    """A message that says something."""

    head: MessageHead
    message: Message

    @property
    def text(self) -> str:
        """What it says: its words, or of a typed one without words its document, a line a field."""
        if self.message.text.strip() or not self.message.payload:
            return self.message.text
        return self.decision or "\n".join(f"- {name}: {_words(v)}" for name, v in self.message.payload.items())

    @property
    def decision(self) -> str | None:
        """What a typed decision has decided, with its topic."""
        return None if self.topic is None else f"{self.topic}: {(self.message.payload or {})['decision']}"

    @property
    def topic(self) -> str | None:
        """What a typed decision is about; None for anything else."""
        match self.message.kind, self.message.payload:
            case "decision", {"topic": topic, "decision": _}:
                return str(topic)
        return None


def _words(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return " ".join(text.split())


def read_source_messages(repository: Repository, heads: Iterable[MessageHead]) -> list[SourceMessage]:
    """Read what messages said, in their order; amendments and retractions among them are applied."""
    found: dict[MessageId, SourceMessage] = {}
    for head in heads:
        message = read_message(repository, head.oid)
        for gone in (message.amends, message.retracts):
            if gone is not None:
                found.pop(MessageId(gone), None)
        if _says_something(message):
            found[head.id] = SourceMessage(head, message)
    return list(found.values())


def _says_something(message: Message) -> bool:
    if message.kind in SILENT or message.author.kind == "injected" or message.retracts is not None:
        return False
    return bool(message.text.strip()) or message.payload is not None or find_plan(message) is not None


def heads_since_summary(repository: Repository, tip: Oid) -> list[MessageHead]:
    """List the messages since the last summary or compaction, oldest first; all of them where there is none.

    What was said while it was written stands before it and is not in it, so it counts as said since.
    """
    heads = walk_heads_newest_first(repository, [tip])
    last = next((head.oid for head in heads if head.kind in SUMMARIES), None)
    return heads_beyond(repository, tip, () if last is None else (_covers_until(repository, last),))


def _covers_until(repository: Repository, summary: Oid) -> Oid:
    """Return where its branch stood when a summary was begun; after a rebase that is another history."""
    match read_message(repository, summary).extra.get("summarizes"):
        case {"tip": str(tip)} if is_oid(tip) and repository.has(Oid(tip)):
            return Oid(tip) if is_ancestor(repository, Oid(tip), summary) else summary
    return summary


def heads_beyond(repository: Repository, tip: Oid, known: Iterable[Oid]) -> list[MessageHead]:
    """List the messages of a branch that none of the known commits has behind it, oldest first."""
    starts = list(known)
    hidden = frozenset(commit.oid for commit in walk_newest_first(repository, starts)) if starts else frozenset()
    return list(walk_heads_oldest_first(repository, [tip], hidden))
