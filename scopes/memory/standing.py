"""The compaction that another one goes on from: the last whose text still says what is behind it.

A compaction stands for the whole history behind it. It is made of the one before it and of what was said since; where
a source of that one was amended or retracted, it is made of the one before that, at last of the messages themselves.
"""

from __future__ import annotations

from typing import NamedTuple

from scopes.conversation.heads import MessageHead, read_message, walk_heads_newest_first
from scopes.conversation.staleness import SUMMARIES
from scopes.ids import MessageId, Oid
from scopes.memory.covered import heads_beyond, read_said
from scopes.memory.summarizer import Count, Earlier
from scopes.memory.touched import read_touched, source_ids
from scopes.model.keys import leaf
from scopes.model.message import Message
from scopes.store.repository import Repository


class Root(NamedTuple):
    """A message with which a context begins."""

    head: MessageHead
    message: Message

    def earlier(self, repository: Repository, count: Count) -> Earlier:
        """Say what it stands for; of one from elsewhere, the messages behind it are counted."""
        text, original = self.message.text.strip(), self.message.extra.get("original_tokens")
        if not isinstance(original, int) or original < 1:
            behind = read_said(repository, heads_beyond(repository, self.head.oid, ()))
            original = sum(count(each.text) for each in behind) or count(text)
        return Earlier(text, original)


def find_root(repository: Repository, tip: Oid) -> Root | None:
    """Return the last compaction of a branch that still says what is behind it."""
    found = [
        Root(head, message)
        for head in walk_heads_newest_first(repository, [tip])
        if head.kind in SUMMARIES and is_root(message := read_message(repository, head.oid))
    ]
    touched = read_touched(repository, tip) if found else set()
    stale: dict[MessageId, bool] = {}
    for root in reversed(found):
        stale[root.head.id] = any(
            leaf("messages", source) in touched or stale.get(source, False)
            for source in (root.head.id, *source_ids(root.message.extra.get("summarizes")))
        )
    return next((root for root in found if not stale[root.head.id]), None)


def is_root(message: Message) -> bool:
    """Tell whether a context begins with a summary, and it says something."""
    return bool(message.text.strip()) and (message.kind == "compaction" or message.extra.get("context_root") is True)
