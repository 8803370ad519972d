"""Find the compactions of a branch, and count what is newer than a summary: such a summary is stale (S4-47)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scopes.history.amendments import is_retracted
from scopes.history.messages import NO_TEXT, MessageHeader, read_body, walk_headers_newest_first
from scopes.history.revisions import list_branch_tips
from scopes.ids import BranchName, ConversationId, Oid
from scopes.model.message import Message
from scopes.model.tombstone import PURGED_TEXT
from scopes.store.graph import is_ancestor
from scopes.store.repository import Repository

SUMMARIES = frozenset({"summary", "compaction"})
SUMMARY = "summary"
SILENT = SUMMARIES | {"tool-results", "system", "meta", "notice", "interrupt"}


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


def is_news(head: MessageHeader) -> bool:
    """Return True if a message has content that a summary would cover, judged by its commit."""
    has_content = head.subject not in {NO_TEXT, PURGED_TEXT}
    return head.kind not in SILENT and head.author_kind != "injected" and has_content


def count_newer(heads_newest_first: Iterable[MessageHeader], summary: MessageHeader) -> int:
    """Count the messages with content that a newest-first walk meets before a summary."""
    count = 0
    for head in heads_newest_first:
        if head.oid == summary.oid:
            break
        count += is_news(head)
    return count


def count_since(
    repository: Repository, conversation: ConversationId, summary: MessageHeader, branches: Iterable[str]
) -> int | None:
    """Count the messages with content after a summary, on the first branch that has it; None if none has it."""
    tips = list_branch_tips(repository, conversation)
    for branch in map(BranchName, branches):
        if branch in tips and is_ancestor(repository, summary.oid, tips[branch]):
            return count_newer(walk_headers_newest_first(repository, [tips[branch]]), summary)
    return None
