"""`summarize --status`: the summaries of a branch, and which of them are stale (S4-47)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from scopes.clock import format_seconds
from scopes.history.activity import SUMMARIES, is_news
from scopes.history.handles import StoreHandle
from scopes.history.messages import MessageHeader, is_retracted, read_body, walk_headers_newest_first
from scopes.ids import BranchName, ConversationId, MessageId
from scopes.memory.source_messages import headers_since_summary, read_amended, read_source_messages, source_ids
from scopes.model.canonical_json import leaf
from scopes.result import Column, Result, counted, named, shown
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """One summary of a branch.

    messages, newer: the number of its sources, and of messages after it.
    changed: the sources that were amended or retracted since.
    """

    head: MessageHeader = field(metadata=named("message"))
    method: str
    messages: int
    newer: int = field(metadata=named("newer_messages"))
    changed: tuple[MessageId, ...]

    @property
    def time(self) -> str:
        """When the summary was written."""
        return format_seconds(self.head.time)

    @property
    def state(self) -> str:
        """Whether it is current, otherwise how many messages are newer and how many of its sources changed."""
        why = [f"{self.newer:,} newer"] * bool(self.newer) + [f"{len(self.changed):,} changed"] * bool(self.changed)
        return f"stale: {', '.join(why)}" if self.stale else "current"

    @property
    @shown
    def stale(self) -> bool:
        """Whether messages are newer than the summary, or sources of it changed."""
        return bool(self.newer or self.changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryList(Result):
    """The summaries of a branch without retracted ones, newest first.

    `uncovered` is the number of messages that no summary covers.
    """

    rows_in = "summaries"
    columns = (
        Column("message.id", "ID", "id"),
        Column("message.kind"),
        Column("message.author"),
        Column("method"),
        Column("messages", form="count"),
        Column("state", form="state"),
        Column("time", form="time"),
        Column("message.oid", "OID", on="template"),
    )
    empty = "The branch has no summary."

    conversation: ConversationId
    branch: BranchName
    summaries: tuple[SummaryRow, ...]
    uncovered: int = field(metadata=named("uncovered_messages"))

    @property
    def sentence(self) -> str:
        """How many messages no summary covers."""
        return f"Not covered yet: {counted(self.uncovered, 'message')} of {self.conversation}/{self.branch}"


def list_summaries(repository: Repository, branch: str) -> SummaryList:
    """List the summaries of a branch (`conversation[/branch]`)."""
    handle = StoreHandle(repository).branch(branch)
    tip = handle.tip
    amended = read_amended(repository, tip)
    rows: list[SummaryRow] = []
    sources_of: dict[MessageId, list[MessageId]] = {}
    newer = 0
    for head in walk_headers_newest_first(repository, [tip]):
        newer += is_news(head)
        if head.kind in SUMMARIES and not is_retracted(repository, tip, head.id):
            message = read_body(repository, head)
            sources = source_ids(message.extra.get("summarizes"))
            sources_of[head.id] = sources
            method = str(message.extra.get("method", "unknown"))
            rows.append(SummaryRow(head=head, method=method, messages=len(sources), newer=newer, changed=()))
    changed: dict[MessageId, tuple[MessageId, ...]] = {}
    for row in reversed(rows):  # oldest first: a compaction may have the previous one as a source
        changed[row.head.id] = tuple(
            changed_id
            for source in sources_of[row.head.id]
            for changed_id in ((source,) if leaf("messages", source) in amended else changed.get(source, ()))
        )
    rows = [replace(row, changed=changed[row.head.id]) for row in rows]
    uncovered = len(read_source_messages(repository, headers_since_summary(repository, tip)))
    return SummaryList(
        conversation=handle.conversation.id, branch=handle.name, summaries=tuple(rows), uncovered=uncovered
    )
