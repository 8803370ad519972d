"""`log`: walk the messages of a conversation, newest first, with filters as for git log."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice

from scopes.clock import now_nanoseconds, parse_moment
from scopes.errors import Invalid
from scopes.history.conversations import list_tips_by_time
from scopes.history.messages import NO_TEXT, MessageHead, is_root, read_message, walk_heads_newest_first
from scopes.history.revisions import list_branch_tips, resolve_revision
from scopes.history.staleness import SUMMARY, is_news
from scopes.ids import BranchName, ConversationId, Oid
from scopes.model.message import KINDS, Message, Part
from scopes.result import Result, Stream
from scopes.store.graph import walk_newest_first
from scopes.store.objects import header_safe
from scopes.store.repository import Repository, read_commit

_CACHED_BODIES = 32  # enough to read tool results once: a walk meets them just before their call
_TOOL_RESULTS = "tool-results"
_BETWEEN_CALL_AND_RESULT = frozenset({_TOOL_RESULTS, "system", "meta", "notice", "error"})  # kinds of message
_MAX_RESULTS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry(Result):
    """One message of a log.

    Attributes:
        head: the message without its body.
        message: the body, if bodies were requested.
        branches: the branches whose tip it is.
        parents: the nearest ancestors that the log shows, for a graph; also parents that only the limit cut off.
        answered_by: the commits with the results of its tool calls.
        results: these results, if they were requested.
        newer: for a summary in the log of one branch, the number of messages after it (S4-47).
    """

    head: MessageHead
    message: Message | None
    branches: tuple[BranchName, ...]
    parents: tuple[Oid, ...] = ()
    answered_by: tuple[Oid, ...] = ()
    results: tuple[Part, ...] = ()
    newer: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Log(Stream):
    """The messages of a conversation in the requested order."""

    conversation: ConversationId


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilter:
    """The messages that a log shows; `since` and `until` are dates, `path` is a file or directory they touched."""

    author: str | None = None
    kind: str | None = None
    since: str | None = None
    until: str | None = None
    path: str | None = None


def log(
    repository: Repository,
    where: str,
    *,
    all_branches: bool = False,
    graph: bool = False,
    oldest_first: bool = False,
    limit: int | None = None,
    only: LogFilter | None = None,
    bodies: bool | None = True,
    results: bool = False,
) -> Log:
    """Walk the messages of `where`: `CONV`, `CONV/BRANCH`, any revision, or a range `A..B` or `A...B`.

    Args:
        repository: the store.
        where: the revision or range.
        all_branches: walk all branches of the conversation, not only the one of `where`.
        graph: give every message the parents that a graph connects it with.
        oldest_first: reverse the order, after the limit was applied.
        limit: the number of messages, counted from the newest.
        only: the filter.
        bodies: read bodies as the log is iterated; None reads only those of messages whose commit has no subject text.
        results: read also the results of tool calls.

    Raises:
        NotFound, Ambiguous, Invalid: the revision, the range or a date cannot be resolved.
    """
    _check_options(limit, graph=graph, oldest_first=oldest_first)
    conversation_id, tips, hidden = _resolve_range(repository, where, all_branches=all_branches)
    branches = _branches_by_tip(repository, conversation_id)
    criteria = only or LogFilter()
    parents_of: dict[Oid, tuple[Oid, ...]] = {}
    heads = walk_heads_newest_first(repository, tips, hidden)
    if graph:
        heads = _record_parents(heads, parents_of)
    read = lru_cache(maxsize=_CACHED_BODIES)(partial(read_message, repository))
    counted = _count_newer(heads, of_branch=len(tips) == 1 and tips[0] in branches)
    entries = _entries(counted, branches, _head_filter(criteria), criteria.path, read)
    if limit is not None:
        entries = islice(entries, min(limit, sys.maxsize))
    if graph:
        entries = iter(_connect(repository, list(entries), parents_of, limit))
    elif oldest_first:
        entries = reversed(list(entries))
    if bodies is not False:
        entries = _read_bodies(entries, read, read_all=bodies is True, results=results)
    return Log(items=entries, conversation=conversation_id)


def touches_file(message: Message, path: str) -> bool:
    """Return True if a message read, changed or mentioned a file, or one below a directory (S1-21)."""
    path = path.rstrip("/")
    touched = {t.path for t in message.files} | {t.source for t in message.files if t.source is not None}
    touched |= {str(part.fields.get("path")) for part in message.parts if part.type == "file_ref"}
    return any(name == path or name.startswith(f"{path}/") or name.endswith(f"/{path}") for name in touched)


class ToolResultTracker:
    """Finds the results of tool calls in a walk from children to parents, in which results come before their calls."""

    def __init__(self) -> None:
        self._results_after: dict[Oid, tuple[Oid, ...]] = {}

    def visit(self, head: MessageHead) -> tuple[Oid, ...]:
        """Visit the next message; return the messages with the results of its calls, nearest first, at most 64."""
        results = self._results_after.pop(head.oid, ())
        if head.kind not in _BETWEEN_CALL_AND_RESULT:
            return results
        pending = (head.oid, *results) if head.kind == _TOOL_RESULTS else results
        for parent in head.parents[:1]:
            self._results_after[parent] = (*pending, *self._results_after.get(parent, ()))[:_MAX_RESULTS]
        return ()


def _check_options(limit: int | None, *, graph: bool, oldest_first: bool) -> None:
    if limit is not None and limit < 0:
        raise Invalid(f"invalid number of messages {limit}: must not be negative", hint="for example: -n 20")
    if graph and oldest_first:
        raise Invalid("--graph and --reverse cannot be used together", hint="leave out one of them")


def _resolve_range(
    repository: Repository, where: str, *, all_branches: bool
) -> tuple[ConversationId, list[Oid], frozenset[Oid]]:
    """Return the conversation, the tips to walk from and the commits to leave out."""
    symmetric = "..." in where
    left, dots, right = where.partition("..." if symmetric else "..")
    if not dots:
        revision = resolve_revision(repository, where)
        conversation = revision.conversation
        if all_branches:
            return conversation, list_tips_by_time(repository, conversation), frozenset()
        return conversation, [revision.oid], frozenset()
    first = resolve_revision(repository, left)
    second = resolve_revision(repository, right or first.conversation, first.conversation)
    ancestors_of_first = frozenset(commit.oid for commit in walk_newest_first(repository, [first.oid]))
    if not symmetric:
        return first.conversation, [second.oid], ancestors_of_first
    ancestors_of_second = frozenset(commit.oid for commit in walk_newest_first(repository, [second.oid]))
    return first.conversation, [first.oid, second.oid], ancestors_of_first & ancestors_of_second


def _branches_by_tip(repository: Repository, conversation: ConversationId) -> dict[Oid, list[BranchName]]:
    branches: dict[Oid, list[BranchName]] = {}
    for branch, tip in list_branch_tips(repository, conversation).items():
        branches.setdefault(tip, []).append(branch)
    return branches


def _head_filter(only: LogFilter) -> Callable[[MessageHead], bool]:
    """Return the filter as a predicate; dates are parsed here, so that a bad one is refused before the first row."""
    if only.kind is not None and only.kind not in KINDS:
        raise Invalid(f"{only.kind!a} is not a valid message kind", hint="kinds: " + ", ".join(KINDS[1:]))
    author = None if only.author is None else header_safe(only.author)  # the form of names in commit headers
    now = now_nanoseconds()
    since = None if only.since is None else parse_moment(only.since, now) // 1_000_000_000
    until = None if only.until is None else parse_moment(only.until, now) // 1_000_000_000

    def matches(head: MessageHead) -> bool:
        in_time = (since is None or head.time >= since) and (until is None or head.time <= until)
        return in_time and author in (None, head.author) and only.kind in (None, head.kind)

    return matches


def _count_newer(heads: Iterable[MessageHead], *, of_branch: bool) -> Iterator[tuple[MessageHead, int | None]]:
    """Yield each message with, for summaries in the walk of one branch, the number of messages after it."""
    newer = 0
    for head in heads:
        newer += is_news(head)
        yield head, newer if of_branch and head.kind == SUMMARY else None


def _entries(
    heads: Iterable[tuple[MessageHead, int | None]],
    branches: Mapping[Oid, list[BranchName]],
    matches: Callable[[MessageHead], bool],
    path: str | None,
    read: Callable[[Oid], Message],
) -> Iterator[LogEntry]:
    """Yield the matching messages without bodies; the results of their calls are found even if they do not match."""
    tracker = ToolResultTracker()
    for head, newer in heads:
        answered_by = tracker.visit(head)
        if matches(head) and (path is None or touches_file(read(head.oid), path)):
            yield LogEntry(
                head=head,
                message=None,
                branches=tuple(branches.get(head.oid, ())),
                parents=head.parents,
                answered_by=answered_by,
                newer=newer,
            )


def _read_bodies(
    entries: Iterable[LogEntry], read: Callable[[Oid], Message], *, read_all: bool, results: bool
) -> Iterator[LogEntry]:
    """Add bodies as the entries are iterated: all, or only those of messages whose commit has no subject text."""
    for entry in entries:
        yield _with_body(entry, read, results=results) if read_all or entry.head.subject == NO_TEXT else entry


def _with_body(entry: LogEntry, read: Callable[[Oid], Message], *, results: bool) -> LogEntry:
    message = read(entry.head.oid)
    parts: tuple[Part, ...] = ()
    if results and any(part.type == "tool_call" for part in message.parts):
        answers = (message, *map(read, entry.answered_by))
        parts = tuple(part for answer in answers for part in answer.parts if part.type == "tool_result")
    return replace(entry, message=message, results=parts)


def _record_parents(heads: Iterable[MessageHead], parents_of: dict[Oid, tuple[Oid, ...]]) -> Iterator[MessageHead]:
    """Pass messages on and record the parents of each."""
    for head in heads:
        parents_of[head.oid] = head.parents
        yield head


def _connect(
    repository: Repository, entries: list[LogEntry], parents_of: dict[Oid, tuple[Oid, ...]], limit: int | None
) -> list[LogEntry]:
    """Set the parents of every entry to its nearest ancestors that are shown, across messages that are filtered out."""
    shown = {entry.head.oid for entry in entries}
    was_limited = limit is not None and len(entries) == limit
    nearest: dict[Oid, tuple[Oid, ...]] = {}
    for oid in reversed(parents_of):  # parents before children
        ancestors: list[Oid] = []
        for parent in parents_of[oid]:
            if parent in shown:
                ancestors.append(parent)
            elif parent in nearest:
                ancestors += nearest[parent]
            elif was_limited and not is_root(read_commit(repository, parent)):
                ancestors.append(parent)
        nearest[oid] = tuple(dict.fromkeys(ancestors))
    return [replace(entry, parents=nearest[entry.head.oid]) for entry in entries]
