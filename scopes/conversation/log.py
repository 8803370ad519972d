"""`log`: the messages of a conversation, newest first, filtered as git filters commits."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice

from scopes.clock import now_nanoseconds
from scopes.errors import Invalid
from scopes.history.dates import parse_moment
from scopes.history.messages import (
    NO_TEXT,
    MessageHead,
    is_root,
    read_message,
    walk_heads_newest_first,
    walk_heads_oldest_first,
)
from scopes.history.revparse import find_conversation, list_branch_tips, resolve_revision
from scopes.history.staleness import SUMMARY, is_news
from scopes.ids import BranchName, ConversationId, Oid
from scopes.model.message import KINDS, Message, Part
from scopes.result import Result, Stream
from scopes.store.graph import walk_newest_first
from scopes.store.objects import header_safe
from scopes.store.repository import Repository, read_commit

_REMEMBERED = 32  # bodies, since the results of a call are read just before the call


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry(Result):
    """One message in a log; `message` is there when bodies were asked for, `branches` are those whose tip it is.

    `parents` are the nearest messages before it that the log shows, for a graph; one that a limit cut off is named.
    `answered_by` are the commits with the results of its tool calls, `results` what they hold where that was asked for.
    Of a summary, `newer` is how many messages came after it, in the log of one branch (S4-47).
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
    """The messages of a conversation in the order asked for."""

    conversation: ConversationId


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilter:
    """Which messages a log shows; `since` and `until` are moments, `path` a file that the message touched."""

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
    """Walk the messages that `where` names: `CONV`, `CONV/BRANCH`, any message, or a range `A..B` or `A...B`.

    A limit counts from the newest message, before the order is reversed. Bodies, and with `results` also those of the
    messages that answer a tool call, are read one by one as the log is read; with None for `bodies` only those of
    messages whose commit has no text to show.

    Raises:
        NotFound, Ambiguous, Invalid: the place, the range or a moment cannot be understood.
    """
    if limit is not None and limit < 0:
        raise Invalid(f"the number of messages is {limit}", hint="for example: -n 20")
    if graph and oldest_first:
        raise Invalid("a graph is drawn from the newest message down", hint="leave out --reverse or --graph")
    chosen, tips, hidden = _find_range(repository, where, all_branches=all_branches)
    names: dict[Oid, list[BranchName]] = {}
    for branch, tip in list_branch_tips(repository, chosen).items():
        names.setdefault(tip, []).append(branch)
    wanted = only or LogFilter()
    seen: dict[Oid, tuple[Oid, ...]] = {}
    heads = _noted(walk_heads_newest_first(repository, tips, hidden), seen, keep=graph)
    read = lru_cache(maxsize=_REMEMBERED)(partial(read_message, repository))
    entries = _entries(_with_news(heads, tips, names), names, _head_filter(wanted), wanted.path, read)
    if limit is not None:
        entries = islice(entries, min(limit, sys.maxsize))
    if graph:
        entries = iter(_connected(repository, list(entries), seen, limit))
    elif oldest_first:
        entries = reversed(list(entries))
    if bodies is not False:
        entries = (
            _with_body(entry, read, results=results) if bodies or entry.head.subject == NO_TEXT else entry
            for entry in entries
        )
    return Log(items=entries, conversation=chosen)


def _find_range(
    repository: Repository, where: str, *, all_branches: bool
) -> tuple[ConversationId, list[Oid], frozenset[Oid]]:
    """Return the tips to walk from and the commits to leave out."""
    three = "..." in where
    left, dots, right = where.partition("..." if three else "..")
    if not dots:
        place = resolve_revision(repository, where)
        if all_branches:
            return (
                place.conversation,
                _by_time(repository, list_branch_tips(repository, place.conversation)),
                frozenset(),
            )
        return place.conversation, [place.oid], frozenset()
    first = resolve_revision(repository, left)
    second = resolve_revision(repository, right or first.conversation, first.conversation)
    behind_first = frozenset(commit.oid for commit in walk_newest_first(repository, [first.oid]))
    if not three:
        return first.conversation, [second.oid], behind_first
    behind_second = frozenset(commit.oid for commit in walk_newest_first(repository, [second.oid]))
    return first.conversation, [first.oid, second.oid], behind_first & behind_second


def _by_time(repository: Repository, tips: Mapping[BranchName, Oid]) -> list[Oid]:
    """Order tips so that the branch that moved last is walked on top."""
    return sorted(dict.fromkeys(tips.values()), key=lambda oid: (read_commit(repository, oid).time, oid))


def _head_filter(only: LogFilter) -> Callable[[MessageHead], bool]:
    """Read the moments of a filter, so that a bad one is refused before the first row."""
    if only.kind is not None and only.kind not in KINDS:
        raise Invalid(f"{only.kind!a} is no kind of message", hint="kinds: " + ", ".join(KINDS[1:]))
    author = None if only.author is None else header_safe(only.author)  # as a commit's header has it
    now = now_nanoseconds()
    since = None if only.since is None else parse_moment(only.since, now) // 1_000_000_000
    until = None if only.until is None else parse_moment(only.until, now) // 1_000_000_000

    def fits(head: MessageHead) -> bool:
        in_time = (since is None or head.time >= since) and (until is None or head.time <= until)
        return in_time and author in (None, head.author) and only.kind in (None, head.kind)

    return fits


def _with_news(
    heads: Iterable[MessageHead], tips: list[Oid], names: Mapping[Oid, list[BranchName]]
) -> Iterator[tuple[MessageHead, int | None]]:
    """Give summaries how many messages came after them, in a walk that begins where one branch ends."""
    of_branch = len(tips) == 1 and tips[0] in names
    newer = 0
    for head in heads:
        newer += is_news(head)
        yield head, newer if of_branch and head.kind == SUMMARY else None


def _entries(
    heads: Iterable[tuple[MessageHead, int | None]],
    names: Mapping[Oid, list[BranchName]],
    wanted: Callable[[MessageHead], bool],
    path: str | None,
    read: Callable[[Oid], Message],
) -> Iterator[LogEntry]:
    """Yield the wanted messages without their bodies, each with the commits that answer its calls, wanted or not."""
    answering = ToolResultTracker()
    for head, newer in heads:
        answered_by = answering.pass_by(head)
        if wanted(head) and (path is None or touches_file(read(head.oid), path)):
            branches = tuple(names.get(head.oid, ()))
            yield LogEntry(
                head=head, message=None, branches=branches, parents=head.parents, answered_by=answered_by, newer=newer
            )


def _with_body(entry: LogEntry, read: Callable[[Oid], Message], *, results: bool) -> LogEntry:
    message = read(entry.head.oid)
    found: tuple[Part, ...] = ()
    if results and any(part.type == "tool_call" for part in message.parts):
        answers = (message, *map(read, entry.answered_by))
        found = tuple(part for answer in answers for part in answer.parts if part.type == "tool_result")
    return replace(entry, message=message, results=found)


def _noted(heads: Iterable[MessageHead], seen: dict[Oid, tuple[Oid, ...]], *, keep: bool) -> Iterator[MessageHead]:
    """Pass messages on and, where they are to be connected, note the parents of each, shown or not."""
    for head in heads:
        if keep:
            seen[head.oid] = head.parents
        yield head


def _connected(
    repository: Repository, entries: list[LogEntry], seen: dict[Oid, tuple[Oid, ...]], limit: int | None
) -> list[LogEntry]:
    """Give every message as parents the nearest ones that are shown, through those that a filter left out."""
    shown = {entry.head.oid for entry in entries}
    cut_off = limit is not None and len(entries) == limit
    nearest: dict[Oid, tuple[Oid, ...]] = {}
    for oid in reversed(seen):  # parents before children
        found: list[Oid] = []
        for parent in seen[oid]:
            if parent in shown:
                found.append(parent)
            elif parent in nearest:
                found += nearest[parent]
            elif cut_off and not is_root(read_commit(repository, parent)):
                found.append(parent)
        nearest[oid] = tuple(dict.fromkeys(found))
    return [replace(entry, parents=nearest[entry.head.oid]) for entry in entries]


def touches_file(message: Message, path: str) -> bool:
    """Tell whether a message read, changed or named a file, or one below a directory (S1-21)."""
    wanted = path.rstrip("/")
    named = {t.path for t in message.files} | {t.source for t in message.files if t.source is not None}
    named |= {str(p.fields.get("path")) for p in message.parts if p.type == "file_ref"}
    return any(name == wanted or name.startswith(f"{wanted}/") or name.endswith(f"/{wanted}") for name in named)


def walk_all_messages(
    repository: Repository, conversation: str
) -> tuple[ConversationId, Iterator[tuple[MessageHead, Message]]]:
    """Resolve a conversation and walk every message of all its branches with its body, oldest first."""
    chosen = find_conversation(repository, conversation)
    tips = _by_time(repository, list_branch_tips(repository, chosen))
    heads = walk_heads_oldest_first(repository, tips)
    return chosen, ((head, read_message(repository, head.oid)) for head in heads)


_RESULTS = "tool-results"
_PASSED = frozenset({_RESULTS, "system", "meta", "notice", "error"})  # what may stand between a call and its result
_MOST = 64


class ToolResultTracker:
    """Remembers the results that were passed until the message comes that asked for them: children before parents."""

    def __init__(self) -> None:
        self._after: dict[Oid, tuple[Oid, ...]] = {}

    def pass_by(self, head: MessageHead) -> tuple[Oid, ...]:
        """Return the messages whose results answer this one, the nearest first; at most 64 are remembered."""
        found = self._after.pop(head.oid, ())
        if head.kind not in _PASSED:
            return found
        carried = (head.oid, *found) if head.kind == _RESULTS else found
        for parent in head.parents[:1]:
            self._after[parent] = (*carried, *self._after.get(parent, ()))[:_MOST]
        return ()
