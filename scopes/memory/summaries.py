"""The summaries that a branch has, and whether they still say what is there (S4-47)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.clock import format_seconds
from scopes.history.messages import MessageHead, read_message, walk_heads_newest_first
from scopes.history.revparse import list_branch_tips, resolve_branch
from scopes.history.staleness import SUMMARIES, is_news
from scopes.ids import BranchName, ConversationId, MessageId
from scopes.memory.amended_sources import read_amended, source_ids
from scopes.memory.source_messages import heads_since_summary, read_source_messages
from scopes.model.path_encoding import leaf
from scopes.result import Result
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """One summary of a branch: how many messages came after it, and what of it was amended or retracted since."""

    head: MessageHead
    method: str
    messages: int
    newer: int
    changed: tuple[MessageId, ...]

    @property
    def time(self) -> str:
        """When it was made."""
        return format_seconds(self.head.time)

    @property
    def stale(self) -> bool:
        """Whether it does not say any more what is there."""
        return bool(self.newer or self.changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryList(Result):
    """The summaries of a branch, newest first, and how many messages no summary covers yet."""

    conversation: ConversationId
    branch: BranchName
    summaries: tuple[SummaryRow, ...]
    uncovered: int


def list_summaries(repository: Repository, where: str) -> SummaryList:
    """List the summaries of a branch, and which of them are stale."""
    chosen, branch = resolve_branch(repository, where, None)
    tip = list_branch_tips(repository, chosen)[branch]
    touched = read_amended(repository, tip)
    rows: list[SummaryRow] = []
    sources_of: dict[MessageId, list[MessageId]] = {}
    newer = 0
    for head in walk_heads_newest_first(repository, [tip]):
        newer += is_news(head)
        if head.kind in SUMMARIES:
            message = read_message(repository, head.oid)
            sources = source_ids(message.extra.get("summarizes"))
            sources_of[head.id] = sources
            method = str(message.extra.get("method", "unknown"))
            rows.append(SummaryRow(head=head, method=method, messages=len(sources), newer=newer, changed=()))
    changed: dict[MessageId, tuple[MessageId, ...]] = {}
    for row in reversed(rows):  # the oldest first: a compaction may be made of the one before it
        changed[row.head.id] = tuple(
            concerned
            for source in sources_of[row.head.id]
            for concerned in ((source,) if leaf("messages", source) in touched else changed.get(source, ()))
        )
    rows = [replace(row, changed=changed[row.head.id]) for row in rows]
    uncovered = len(read_source_messages(repository, heads_since_summary(repository, tip)))
    return SummaryList(conversation=chosen, branch=branch, summaries=tuple(rows), uncovered=uncovered)
