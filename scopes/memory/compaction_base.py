"""The compaction that the next one continues from: the newest one whose sources are unchanged.

A compaction represents the whole history before it. It is made of the previous compaction and the messages since. If a
source of the previous one was amended or retracted, an older one is continued, or else it is made of all messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scopes.history.activity import SUMMARIES
from scopes.history.messages import MessageHeader, is_retracted, read_body, walk_headers_newest_first
from scopes.ids import MessageId, Oid
from scopes.memory.source_messages import headers_beyond, read_amended, read_source_messages, source_ids
from scopes.model.canonical_json import leaf
from scopes.model.message import Message
from scopes.store.repository import Repository
from scopes.tokens.count import Tokenizer

MERGED_BRANCHES = "Merged branches:"
"""The heading of the last part of a compaction: what merges brought together, which each compaction writes anew."""


class PreviousSummary(NamedTuple):
    """The text of a compaction, and the number of tokens of what it represents."""

    text: str
    original_tokens: int


class CompactionBase(NamedTuple):
    """A compaction message."""

    head: MessageHeader
    message: Message

    def previous_summary(self, repository: Repository, tokenizer: Tokenizer) -> PreviousSummary:
        """Return its text without the merged branches, and original tokens.

        If another program stored no number of tokens, they are counted in the messages.
        """
        text = self.message.text.strip().partition(f"\n\n{MERGED_BRANCHES}\n")[0]
        original = self.message.extra.get("original_tokens")
        if not isinstance(original, int) or original < 1:
            messages = read_source_messages(repository, headers_beyond(repository, self.head.oid, ()))
            original = sum(tokenizer.count(source.text) for source in messages) or tokenizer.count(text)
        return PreviousSummary(text, original)


def find_compaction_base(repository: Repository, tip: Oid) -> CompactionBase | None:
    """Return the newest compaction of a branch that has no amended or retracted source, directly or indirectly."""
    newest_first = [
        CompactionBase(head, message)
        for head, message in walk_compactions(repository, tip, walk_headers_newest_first(repository, [tip]))
        if message.text.strip()
    ]
    amended = read_amended(repository, tip) if newest_first else set()
    stale: dict[MessageId, bool] = {}
    for base in reversed(newest_first):
        stale[base.head.id] = any(
            leaf("messages", source) in amended or stale.get(source, False)
            for source in (base.head.id, *source_ids(base.message.extra.get("summarizes")))
        )
    return next((base for base in newest_first if not stale[base.head.id]), None)


def walk_compactions(
    repository: Repository, tip: Oid, heads_newest_first: Iterable[MessageHeader]
) -> Iterator[tuple[MessageHeader, Message]]:
    """Yield the compactions among the messages of a branch, newest first, without retracted ones."""
    for head in heads_newest_first:
        if head.kind in SUMMARIES:
            message = read_body(repository, head)
            is_compaction = message.kind == "compaction" or message.extra.get("context_root") is True
            if is_compaction and not is_retracted(repository, tip, head.id):
                yield head, message
