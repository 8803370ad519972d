"""Whether a summary has been overtaken by what was said after it on its branch (S4-47)."""

from __future__ import annotations

from collections.abc import Iterable

from scopes.history.messages import NO_TEXT, MessageHead, walk_heads_newest_first
from scopes.history.revparse import list_branch_tips
from scopes.ids import BranchName, ConversationId
from scopes.store.graph import is_ancestor
from scopes.store.repository import Repository

SUMMARIES = frozenset({"summary", "compaction"})
SUMMARY = "summary"
SILENT = SUMMARIES | {"tool-results", "system", "meta", "notice", "interrupt"}


def is_news(head: MessageHead) -> bool:
    """Tell whether a message says something, as far as its commit shows, and is no summary itself."""
    return head.kind not in SILENT and head.author_kind != "injected" and head.subject != NO_TEXT


def count_newer(heads_newest_first: Iterable[MessageHead], summary: MessageHead) -> int:
    """Count what was said before the walk comes to a summary."""
    count = 0
    for head in heads_newest_first:
        if head.oid == summary.oid:
            break
        count += is_news(head)
    return count


def count_since(
    repository: Repository, conversation: ConversationId, summary: MessageHead, branches: Iterable[str]
) -> int | None:
    """Count what was said after a summary on the first of the branches that has it; None where none has."""
    tips = list_branch_tips(repository, conversation)
    for branch in map(BranchName, branches):
        if branch in tips and is_ancestor(repository, summary.oid, tips[branch]):
            return count_newer(walk_heads_newest_first(repository, [tips[branch]]), summary)
    return None
