"""The compaction that another one goes on from: the last whose text still says what is behind it.

A compaction stands for the whole history behind it. It is made of the one before it and of what was said since; where
a source of that one was amended or retracted, it is made of the one before that, at last of the messages themselves.
"""

from __future__ import annotations

from typing import NamedTuple

from scopes.history.messages import MessageHead, read_message, walk_heads_newest_first
from scopes.history.staleness import SUMMARIES
from scopes.ids import MessageId, Oid
from scopes.memory.amended_sources import read_amended, source_ids
from scopes.memory.source_messages import heads_beyond, read_source_messages
from scopes.memory.summarizer import Count, PreviousSummary
from scopes.model.message import Message
from scopes.model.path_encoding import leaf
from scopes.store.repository import Repository


class CompactionBase(NamedTuple):
    """A message with which a context begins."""

    head: MessageHead
    message: Message

    def earlier(self, repository: Repository, count: Count) -> PreviousSummary:
        """Say what it stands for; of one from elsewhere, the messages behind it are counted."""
        text, original = self.message.text.strip(), self.message.extra.get("original_tokens")
        if not isinstance(original, int) or original < 1:
            behind = read_source_messages(repository, heads_beyond(repository, self.head.oid, ()))
            original = sum(count(each.text) for each in behind) or count(text)
        return PreviousSummary(text, original)


def find_compaction_base(repository: Repository, tip: Oid) -> CompactionBase | None:
    """Return the last compaction of a branch that still says what is behind it."""
    found = [
        CompactionBase(head, message)
        for head in walk_heads_newest_first(repository, [tip])
        if head.kind in SUMMARIES and is_compaction(message := read_message(repository, head.oid))
    ]
    touched = read_amended(repository, tip) if found else set()
    stale: dict[MessageId, bool] = {}
    for root in reversed(found):
        stale[root.head.id] = any(
            leaf("messages", source) in touched or stale.get(source, False)
            for source in (root.head.id, *source_ids(root.message.extra.get("summarizes")))
        )
    return next((root for root in found if not stale[root.head.id]), None)


def is_compaction(message: Message) -> bool:
    """Tell whether a context begins with a summary, and it says something."""
    return bool(message.text.strip()) and (message.kind == "compaction" or message.extra.get("context_root") is True)
