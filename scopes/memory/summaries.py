"""The summaries that a branch has, and whether they still say what is there (S4-47)."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.clock import format_seconds
from scopes.conversation.heads import MessageHead, read_message, walk_heads_newest_first
from scopes.conversation.lookup import branch_tips, find_both
from scopes.conversation.staleness import SUMMARIES, is_news
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.memory.covered import heads_since_summary, read_said
from scopes.model.keys import leaf
from scopes.result import Result
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import find_entry, walk_blobs

_STATE = "state/messages"


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
    chosen, branch = find_both(repository, where, None)
    tip = branch_tips(repository, chosen)[branch]
    touched = _touched(repository, tip)
    rows = []
    newer = 0
    for head in walk_heads_newest_first(repository, [tip]):
        newer += is_news(head)
        if head.kind in SUMMARIES:
            message = read_message(repository, head.oid)
            sources = source_ids(message.extra.get("summarizes"))
            changed = tuple(source for source in sources if leaf("messages", source) in touched)
            method = str(message.extra.get("method", "unknown"))
            rows.append(SummaryRow(head=head, method=method, messages=len(sources), newer=newer, changed=changed))
    uncovered = len(read_said(repository, heads_since_summary(repository, tip)))
    return SummaryList(conversation=chosen, branch=branch, summaries=tuple(rows), uncovered=uncovered)


def _touched(repository: Repository, tip: Oid) -> set[str]:
    """Return the places of the messages that were amended or retracted."""
    state = find_entry(repository, read_commit(repository, tip).tree, _STATE)
    return set() if state is None else {path for path, _ in walk_blobs(repository, state.oid, "messages/")}


def source_ids(summarizes: object) -> list[MessageId]:
    """Return the messages that a summary says it covers; none where it says nothing that we understand."""
    match summarizes:
        case {"messages": list(messages)}:
            return [MessageId(source) for source in messages if isinstance(source, str)]
    return []
