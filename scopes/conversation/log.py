"""`log`: walk the messages of a branch, a revision or a range, newest first; and `bisect`.

A walk reads commits only. Bodies are read as the log is iterated, and only those that are wanted: for their text, for
a filter, for the results of calls, or for the word that says how the last message of a turn ended.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import chain, islice
from shlex import quote
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar

from scopes.clock import now_nanoseconds, parse_window
from scopes.errors import Invalid, Refused, check_not_negative
from scopes.history.activity import SUMMARY, TOOL_RESULTS, ToolResultTracker, find_call_message, is_news, with_summary
from scopes.history.handles import list_tips_by_time, participants_of
from scopes.history.messages import (
    NO_TEXT,
    MessageHeader,
    RecordedTimes,
    find_amendments,
    header_of,
    headers_of,
    is_root,
    latest,
    message_document,
    read_body,
    read_body_bytes,
    read_claims,
    read_root,
    shown_author,
)
from scopes.history.metadata import Metadata, read_metadata
from scopes.history.names import MAIN, Revision, list_branch_tips, resolve_revision, resolve_with_latest
from scopes.history.sessions import Ending, Following, ending_of, is_live, is_unanswered, may_have_ending, reader_notes
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid
from scopes.model.canonical_json import without_none
from scopes.model.message import KINDS, Message, MessageKind, Part
from scopes.result import HIDDEN, Column, Note, Result, Stream, counted, few, shown
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit, header_safe, read_commit
from scopes.store.repository import Repository

_Name = TypeVar("_Name", bound=str)

if TYPE_CHECKING:
    from scopes.merge.lanes import LaneMark, MarkedLanes
    from scopes.model.operation import Signature


class TurnLink(NamedTuple):
    """That a turn made a commit of the project or wrote lines of it; `turn` is the number of its prompt."""

    role: str
    level: str
    turn: int


class CommitTurn(NamedTuple):
    """The conversation and the branch of a turn, a commit of the project, and the links of both, the surest first.

    Of the turn that started a sub-agent there are no links. `also` are the other conversations that are linked to the
    commit.
    """

    conversation: ConversationId
    branch: BranchName | None
    commit: str
    links: tuple[TurnLink, ...]
    also: tuple[ConversationId, ...]

    def document(self) -> dict[str, object]:
        """Return the turn as a JSON object."""
        return without_none(**{**self._asdict(), "also": self.also or None})


def staleness(newer: int | None) -> dict[str, object]:
    """Return whether a summary is stale; nothing if `newer` is None, that is, for other messages (S4-47)."""
    return {} if newer is None else {"stale": newer > 0, "newer_messages": newer}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry(Result):
    """One message of a log.

    Attributes:
        head: the message without its body.
        message: the body, if bodies were requested.
        branches: the branches whose tip it is.
        tags: the tags of its commit.
        parents: the nearest ancestors that the log shows, for a graph; also parents that only the limit cut off.
        results: the results of its tool calls, if they were requested.
        newer: for a summary in the log of one branch, the number of messages after it (S4-47).
        lanes: the merged branches that it is from, the outermost first.
        retracted: a later message below one of the tips of the log retracted it.
        amended: a later one replaced its text.
        ending: how its turn ended without a whole answer, if bodies were requested (S3-24).
        signature: what git says about the signature of its commit, if it has one and that was requested.
        commit_turn: how its turn is linked with the commit of the project that was asked for.
    """

    head: MessageHeader
    message: Message | None = None
    branches: tuple[BranchName, ...] = ()
    tags: tuple[str, ...] = ()
    parents: tuple[Oid, ...] = ()
    results: tuple[Part, ...] = ()
    newer: int | None = None
    lanes: tuple[LaneMark, ...] = ()
    retracted: bool = False
    amended: bool = False
    ending: Ending | None = None
    signature: Signature | None = None
    commit_turn: CommitTurn | None = None

    def document(self) -> dict[str, object]:
        """Return the message with the branches whose tip it is, and the merged branch that it is from."""
        return message_document(self.head, self.message) | without_none(
            ending=self.ending,
            branches=self.branches or None,
            retracted=self.retracted or None,
            amended=self.amended or None,
            **staleness(self.newer),
            lane=self.lanes[-1].branch if self.lanes else None,
            signature=self.signature,
            commit_turn=self.commit_turn,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Log(Stream):
    """The messages of a conversation in the requested order.

    `branch` is the only branch of it, if there is only one. Title, directory and participants of the conversation are
    known if they were requested.
    """

    rows_in = "messages"

    conversation: ConversationId
    branch: BranchName | None = field(default=None, metadata=HIDDEN)
    oldest_first: bool = field(default=False, metadata=HIDDEN)
    title: str | None = field(default=None, metadata=HIDDEN)
    directory: str | None = field(default=None, metadata=HIDDEN)
    participants: tuple[AgentName, ...] = field(default=(), metadata=HIDDEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilter:
    """The messages that a log shows.

    Several authors or kinds mean "one of them". `author` is a name as a log shows it, in any case; `SYSTEM` is the
    system. `since` and `until` are dates, `path` is a file or directory that the messages touched, and `body` is a test
    of the whole message. `messages` are the ids of the messages that may be shown.
    """

    author: str | Sequence[str] | None = None
    kind: MessageKind | Sequence[MessageKind] | None = None
    since: str | None = None
    until: str | None = None
    path: str | None = None
    body: Callable[[Message], bool] | None = None
    messages: Container[MessageId] | None = None

    @property
    def is_only_path(self) -> bool:
        """Return True if there is no condition besides the path."""
        return self.messages is None and not any((self.author, self.kind, self.since, self.until, self.body))


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
    fold_results: bool = False,
    digests: bool = False,
    heading: bool = False,
) -> Log:
    """Walk the messages of `where`: `CONV`, `CONV/BRANCH`, any revision, or a range `A..B` or `A...B`.

    A branch or message may be named without its conversation if that is the latest one. With a filter the walk goes to
    the first match at once; if there is none, a note names the authors or kinds that there are.

    Args:
        repository: the store.
        where: the revision or range.
        all_branches: walk all branches of the conversation, not only the one of `where`.
        graph: give every message the parents that a graph connects it with; a message with two commits is there twice.
        oldest_first: reverse the order, after the limit was applied.
        limit: the number of messages, counted from the newest.
        only: the filter.
        bodies: read bodies as the log is iterated; None reads those of messages whose commit has no subject text.
        results: read also the results of tool calls.
        fold_results: leave out messages that hold nothing but the results of calls that the log shows, except tips and
            kinds asked for by name.
        digests: read what each side of a merge did, for the marks of merged branches.
        heading: read the title, the directory and the participants of the conversation.

    Raises:
        NotFound, Ambiguous, Invalid: the revision, the range or a date cannot be resolved.
    """
    check_not_negative(limit, "number of messages", "for example: -n 20")
    if graph and oldest_first:
        raise Invalid("--graph and --reverse cannot be used together", hint="leave out one of them")
    conversation_id, tips, hidden, branch = _resolve_range(repository, where, all_branches=all_branches)
    branches = _names_by_commit(list_branch_tips(repository, conversation_id))
    metadata = read_metadata(repository, conversation_id)
    tags = _names_by_commit(metadata.tags)
    parents_of: dict[Oid, tuple[Oid, ...]] = {}
    lanes = _LaneFinder(repository, conversation_id, branch, tips, digests=digests)
    commits = lanes.watch(walk_newest_first(repository, tips, hidden))
    heads = _messages_of_graph(commits, parents_of) if graph else headers_of(commits)
    criteria = only or LogFilter()
    read = lru_cache(_KEPT)(partial(read_body, repository))  # a walk meets tool results before their call

    seen: set[tuple[str, str]] = set()
    matches = _filter(criteria, read, seen)
    folds = fold_results and TOOL_RESULTS not in _as_names(criteria.kind)

    def is_shown(head: MessageHeader) -> bool:
        if not matches(head):
            return False
        if not folds or head.kind != TOOL_RESULTS or head.oid in branches:
            return True
        call = find_call_message(repository, head)
        return call is None or call.oid in hidden or not matches(call) or not _is_folded(read(head).parts, read(call))

    found: Iterator[_Found] = _walk(
        map(RecordedTimes(repository).add_to, heads),
        is_shown,
        lanes,
        Following(branches, is_live=is_live(repository, conversation_id, branch)),
        of_branch=len(tips) == 1 and tips[0] in branches,
    )
    found = found if limit is None else islice(found, min(limit, sys.maxsize))
    connected: Mapping[Oid, tuple[Oid, ...]] = {}
    if graph or oldest_first:
        rows = list(found)
        connected = _connect(repository, rows, parents_of, limit) if graph else {}
        found = iter(rows) if graph else reversed(rows)
    claims = [claims for tip in tips if (claims := read_claims(repository, tip))]

    def entry_of(row: _Found) -> LogEntry:
        head = row.head
        changes = {name for of_tip in claims if isinstance(claim := of_tip.get(head.id), dict) for name in claim}
        message, parts, ending = _read_shown(repository, read, row, bodies=bodies, results=results)
        return LogEntry(
            head=head,
            message=message,
            branches=tuple(branches.get(head.oid, ())),
            tags=tuple(tags.get(head.oid, ())),
            parents=connected.get(head.oid, head.parents),
            results=parts,
            newer=row.newer,
            lanes=row.lanes,
            retracted="retracted" in changes,
            amended="amended" in changes and "retracted" not in changes,
            ending=ending,
        )

    entries = map(entry_of, found)
    is_branch = branch is not None and len(tips) == 1
    notes = reader_notes(repository, Revision(conversation_id, branch, tips[0]), where) if is_branch else ()
    first: list[LogEntry] = []
    if not (criteria.is_only_path and criteria.path is None) and limit != 0:
        first = list(islice(entries, 1))
        notes += () if first else (_none_found_note(criteria, conversation_id, seen),)
    result = Log(
        items=chain(first, entries), conversation=conversation_id, branch=branch, oldest_first=oldest_first,
        notes=notes,
    )  # fmt: skip
    return _with_heading(repository, result, metadata, tips[0]) if heading else result


def _with_heading(repository: Repository, found: Log, metadata: Metadata, tip: Oid) -> Log:
    commit, main = read_commit(repository, tip), metadata.branches.get(MAIN)
    root = read_root(repository, commit, None if main is None else main.fork)
    return replace(
        found, title=metadata.title, directory=metadata.directory or root.cwd,
        participants=participants_of(repository, [commit]),
    )  # fmt: skip


def parse_kinds(names: Sequence[str]) -> list[MessageKind]:
    """Return the kinds of message with these names.

    Raises:
        Invalid: there is no such kind.
    """
    known = {str(kind): kind for kind in KINDS}
    for name in names:
        if name not in known:
            raise Invalid(f"{name!a} is not a valid message kind", hint="kinds: " + ", ".join(KINDS[1:]))
    return [known[name] for name in names]


def touches_file(message: Message, path: str) -> bool:
    """Return True if a message read, changed or mentioned a file, or one below a directory (S1-21).

    A relative path is also the end of a file's path, or directories in it: `net/` for `/home/carol/net/push.go`.
    """
    absolute, path = path.startswith("/"), path.removeprefix("./").rstrip("/")
    touched = {t.path for t in message.files} | {t.source for t in message.files if t.source is not None}
    touched |= {str(part.fields.get("path")) for part in message.parts if part.type == "file_ref"}
    if absolute:
        return any(f"{name}/".startswith(f"{path}/") for name in touched)
    return path != "" and any(f"/{path}/" in f"/{name}/" for name in touched)


def _resolve_range(
    repository: Repository, where: str, *, all_branches: bool
) -> tuple[ConversationId, list[Oid], frozenset[Oid], BranchName | None]:
    """Return the conversation, the tips to walk from, the commits to leave out, and the branch if there is only one."""
    symmetric = "..." in where
    left, dots, right = where.partition("..." if symmetric else "..")
    if not dots:
        revision = resolve_with_latest(repository, where)
        conversation = revision.conversation
        if all_branches:
            return conversation, list_tips_by_time(repository, conversation), frozenset(), None
        return conversation, [revision.oid], frozenset(), revision.branch
    first = resolve_with_latest(repository, left)
    second = resolve_revision(repository, right or first.conversation, first.conversation)
    ancestors_of_first = frozenset(commit.oid for commit in walk_newest_first(repository, [first.oid]))
    if not symmetric:
        return first.conversation, [second.oid], ancestors_of_first, second.branch
    ancestors_of_second = frozenset(commit.oid for commit in walk_newest_first(repository, [second.oid]))
    return first.conversation, [first.oid, second.oid], ancestors_of_first & ancestors_of_second, None


def _names_by_commit(named: Mapping[_Name, Oid]) -> dict[Oid, list[_Name]]:
    found: dict[Oid, list[_Name]] = {}
    for name, oid in named.items():
        found.setdefault(oid, []).append(name)
    return found


def _filter(only: LogFilter, read: _Read, seen: set[tuple[str, str]]) -> Callable[[MessageHeader], bool]:
    """Return the filter as a predicate, which adds author and kind of a message to `seen`; refuse a bad date."""
    kinds = parse_kinds(_as_names(only.kind))
    authors = {header_safe(name).casefold() for name in _as_names(only.author)}  # the form of names in commit headers
    now = now_nanoseconds()
    since, until = (None if end is None else end // 1_000_000_000 for end in parse_window(only.since, only.until, now))
    path, body, messages = only.path, only.body, only.messages
    if only.is_only_path and path is None:
        return lambda _: True

    def matches(head: MessageHeader) -> bool:
        seen.add((shown_author(head), head.kind))
        time = head.time if head.recorded is None else head.recorded
        return (
            (messages is None or head.id in messages)
            and (since is None or time >= since)
            and (until is None or time <= until)
            and (not kinds or head.kind in kinds)
            and (not authors or shown_author(head).casefold() in authors or head.author.casefold() in authors)
            and (path is None or touches_file(read(head), path))
            and (body is None or body(read(head)))
        )

    return matches


def _none_found_note(only: LogFilter, conversation: ConversationId, seen: Iterable[tuple[str, str]]) -> Note:
    """Return the note that no message matches; its hint names the authors and kinds in the walk."""
    hints = [f"see: scopes show {quote(conversation)} --files"] if only.path is not None else []
    hints += [few("authors", (name for name, _ in seen))] if only.author else []
    hints += [few("kinds", (kind for _, kind in seen))] if only.kind else []
    text = f"no message touched {only.path!a}" if only.is_only_path else "no message matches"
    return Note(text, "\n".join(filter(None, hints)) or None)


def _as_names(given: str | Sequence[str] | None) -> Sequence[str]:
    return () if given is None else (given,) if isinstance(given, str) else given


class _Found(NamedTuple):
    """A message that a log shows, with what follows from those that the walk met before.

    `answered_by` are the commits with the results of its tool calls, `next_prompts` the prompts that follow it, if it
    is the last message of its turn.
    """

    head: MessageHeader
    answered_by: tuple[Oid, ...]
    newer: int | None
    lanes: tuple[LaneMark, ...]
    next_prompts: tuple[Oid, ...] | None


def _walk(
    heads: Iterable[MessageHeader],
    matches: Callable[[MessageHeader], bool],
    lanes: _LaneFinder,
    following: Following,
    *,
    of_branch: bool,
) -> Iterator[_Found]:
    """Yield the matching messages; the results of their calls are found even if they do not match."""
    tracker = ToolResultTracker()
    newer = 0
    for head in heads:
        newer += is_news(head)
        answered_by = tracker.visit(head)
        next_prompts = following.visit(head)
        if matches(head):
            after = newer if of_branch and head.kind == SUMMARY else None
            yield _Found(head, answered_by, after, lanes.lanes_of(head), next_prompts)


_KEPT = 32  # messages
_Read: TypeAlias = Callable[[MessageHeader | Commit], Message]


def _read_shown(
    repository: Repository, read: _Read, row: _Found, *, bodies: bool | None, results: bool
) -> tuple[Message | None, tuple[Part, ...], Ending | None]:
    """Return the body of a message, the results of its calls, and how its turn ended.

    If `bodies` is None, the first two only if the commit has no subject text; nothing if it is False.
    """
    head, next_prompts = row.head, row.next_prompts
    is_read = bodies or (bodies is None and head.subject == NO_TEXT)
    if not is_read and (
        bodies is False or next_prompts is None or not may_have_ending(head.kind, read_body_bytes(repository, head))
    ):
        return None, (), None

    def read_at(oid: Oid) -> Message:
        return read(read_commit(repository, oid))

    message = read(head)
    ending = ending_of(message)
    if next_prompts is not None and is_unanswered(message, map(read_at, next_prompts)):
        ending = "unanswered"
    parts: tuple[Part, ...] = ()
    if is_read and results and any(part.type == "tool_call" for part in message.parts):
        answers = (message, *map(read_at, row.answered_by))
        parts = tuple(part for answer in answers for part in answer.parts if part.type == "tool_result")
    return message if is_read else None, parts, ending


_KEPT_COMMITS = 100  # after a merge, for how its conflicts were resolved


@dataclass(slots=True)
class _LaneFinder:
    """Finds the merged branches of a walk, once it has come to a merge."""

    repository: Repository
    conversation: ConversationId
    branch: BranchName | None
    tips: Sequence[Oid]
    digests: bool
    lanes: MarkedLanes | None = None
    mark: Callable[[int], LaneMark] | None = None

    def watch(self, commits: Iterator[Commit]) -> Iterator[Commit]:
        """Pass commits on, newest first; those from a merge on are read together, as the walk itself does."""
        newer: deque[Commit] = deque(maxlen=_KEPT_COMMITS)
        for commit in commits:
            if len(commit.parents) < 2 and len(self.tips) == 1:
                newer.append(commit)
                yield commit
                continue
            rest = [commit, *commits]
            tips = self.tips if len(self.tips) > 1 else ()
            from scopes.merge.lanes import MarkedLanes

            oldest_first = [*reversed(rest), *reversed(newer)]
            lanes = self.lanes = MarkedLanes(self.repository, self.conversation, oldest_first, self.branch, tips)
            read = self._read_latest(lanes) if self.digests else None
            self.mark = lru_cache(maxsize=None)(partial(lanes.mark, read=read))
            yield from rest

    def lanes_of(self, head: MessageHeader) -> tuple[LaneMark, ...]:
        """Return the marks of the lanes that a message is in, the outermost first."""
        marks = () if self.lanes is None or self.mark is None else map(self.mark, self.lanes.lanes_of(head.oid))
        return tuple(marks)

    def _read_latest(self, lanes: MarkedLanes) -> Callable[[MessageHeader], Message | None]:
        """Return a function that reads a message as it is now, for a digest."""
        amendments = find_amendments(self.repository, self.tips[0], lanes.heads)
        return lambda head: latest(read_body(self.repository, head), amendments)


def _is_folded(parts: Sequence[Part], call: Message) -> bool:
    """Return True if the parts of a message are nothing but results of the calls in another one."""
    called = {part.fields.get("call_id") for part in call.parts if part.type == "tool_call"}
    return bool(parts) and all(p.type == "tool_result" and p.fields.get("call_id", "") in called for p in parts)


def _messages_of_graph(commits: Iterable[Commit], parents_of: dict[Oid, tuple[Oid, ...]]) -> Iterator[MessageHeader]:
    """Yield the headers of the messages in commits, and record their parents; one with two commits comes twice."""
    for head in (header_of(commit) for commit in commits if not is_root(commit)):
        parents_of[head.oid] = head.parents
        yield head


def _connect(
    repository: Repository, rows: Sequence[_Found], parents_of: dict[Oid, tuple[Oid, ...]], limit: int | None
) -> dict[Oid, tuple[Oid, ...]]:
    """Return the nearest ancestors of every message that are shown, across messages that are filtered out."""
    shown = {row.head.oid for row in rows}
    was_limited = limit is not None and len(rows) == limit
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
    return nearest


GOOD, BAD, SKIP = 0, 1, 125
ABORT_FROM = 128
Verdict: TypeAlias = Literal["good", "bad", "skip"]


class BisectPoint(NamedTuple):
    """A commit of the searched line; `head` is None at the root, before the first message."""

    conversation: ConversationId
    oid: Oid
    head: MessageHeader | None

    def document(self) -> dict[str, object]:
        """Return the JSON object."""
        document: dict[str, object] = without_none(oid=self.oid, id=None if self.head is None else self.head.id)
        return document


class BisectStep(NamedTuple):
    """One run of the test; `role` is `good` or `bad` if it only checked that end of the line."""

    point: BisectPoint
    verdict: Verdict
    code: int
    role: str | None = None

    def document(self) -> dict[str, object]:
        """Return the JSON object."""
        role: dict[str, object] = {} if self.role is None else {"role": self.role}
        return self.point.document() | {"verdict": self.verdict, "exit_code": self.code} | role


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisection(Result):
    """What the search found; `first_bad` is None if skipped messages hide it: then it is one of `candidates`.

    good, bad: the ends of the search. candidates: oldest first. steps: every run of the test, in order.
    """

    kind = "bisect"
    rows_in = "rows"
    is_one_row = True
    columns = (
        Column("state", form="state"),
        Column("id", "ID", "id"),
        Column("author"),
        Column("time", form="time"),
        Column("text"),
        Column("oid", "OID", on="template"),
    )

    conversation: ConversationId
    good: BisectPoint
    bad: BisectPoint
    first_bad: MessageHeader | None
    candidates: tuple[MessageHeader, ...]
    skipped: tuple[MessageHeader, ...]
    steps: tuple[BisectStep, ...]

    @property
    @shown
    def found(self) -> bool:
        """Whether the first bad message is known."""
        return self.first_bad is not None

    @property
    def rows(self) -> list[dict[str, object]]:
        """The first bad message; if skipped messages hide it, all that it may be."""
        skipped = {head.oid for head in self.skipped}
        heads = self.candidates if self.first_bad is None else (self.first_bad,)
        return [
            {
                "state": "first-bad" if self.found else "skipped" if head.oid in skipped else "bad",
                "id": head.id,
                "author": head.who,
                "time": head.when,
                "text": head.subject,
                "oid": head.oid,
            }
            for head in heads
        ]

    @property
    def sentence(self) -> str:
        """How it was found, or why it was not."""
        steps = counted(len(self.steps), "step")
        if self.found:
            return f"first bad message of {self.conversation}, found in {steps}"
        skipped = counted(len(self.skipped), "message")
        return f"not decided after {steps}: {skipped} skipped; the first bad message is one of these"

    @property
    def exit_code(self) -> int:
        """0 if the first bad message was found, otherwise 1."""
        return 0 if self.first_bad is not None else 1


def bisect(
    repository: Repository,
    conversation: str,
    judge: Callable[[BisectPoint], int],
    *,
    good: str | None = None,
    bad: str | None = None,
    verify: bool = True,
    on_step: Callable[[BisectPoint, int], object] = lambda _point, _left: None,
) -> Bisection:
    """Find the first message at which a test fails: after `good` (default: the root) up to `bad` (default: the tip).

    A binary search along the line of first parents. Nothing is checked out and nothing is stored.

    judge: returns an exit code for a commit: 0 is good, 125 cannot be tested, 128 and above stop the search, all others
        are bad, as in `git bisect run`.
    verify: first check that the judge calls `good` good and `bad` bad.
    on_step: called before each run with the commit and the number of messages that may still be the first bad one.

    Raises:
        NotFound, Ambiguous: a revision cannot be resolved.
        Refused: `good` is not on the line of first parents below `bad`, the ends are not as said, or the judge stopped.
    """
    line = _read_line(repository, conversation, good, bad)
    low, high = 0, len(line) - 1
    steps: list[BisectStep] = []
    skipped: set[int] = set()

    def run(point: BisectPoint, role: str | None = None) -> Verdict:
        on_step(point._replace(head=point.head and with_summary(repository, point.head)), high - low)
        code = judge(point)
        if code < 0 or code >= ABORT_FROM:
            how = f"exit code {code}" if code > 0 else f"signal {-code}"
            raise Refused(f"the command stopped the search at {_name(point)} with {how}")
        verdict: Verdict = "good" if code == GOOD else "skip" if code == SKIP else "bad"
        steps.append(BisectStep(point, verdict, code, role))
        return verdict

    for point, role in ((line[0], "good"), (line[-1], "bad")) if verify else ():
        verdict = run(point, role)
        if verdict != role:
            outcome = "it could not be tested" if verdict == "skip" else f"exit code {steps[-1].code}"
            raise Refused(
                f"{_name(point)}, the {role} end of the search, is {verdict} for the command ({outcome})",
                hint=f"name another one with --{role}",
            )
    while untested := [position for position in range(low + 1, high) if position not in skipped]:
        position = min(untested, key=lambda each: abs(2 * each - low - high))
        verdict = run(line[position])
        if verdict == "skip":
            skipped.add(position)
        elif verdict == "good":
            low = position
        else:
            high = position
    heads = {n: with_summary(repository, head) for n in range(low + 1, high + 1) if (head := line[n].head) is not None}
    return Bisection(
        conversation=line[-1].conversation,
        good=line[0],
        bad=line[-1],
        first_bad=heads[high] if len(heads) == 1 else None,
        candidates=tuple(heads.values()) if len(heads) > 1 else (),
        skipped=tuple(heads[n] for n in sorted(skipped) if low < n < high),
        steps=tuple(steps),
    )


def exit_code_of(verdict: object) -> int:
    """Return the exit code of a verdict: True is good, False is bad, None cannot be tested.

    Raises:
        TypeError: it is something else, such as an exit code, of which 0 would be good.
    """
    if verdict is None:
        return SKIP
    if not isinstance(verdict, bool):
        raise TypeError(f"a judge returns True (good), False (bad) or None (cannot be tested), not {verdict!r}")
    return GOOD if verdict else BAD


def _read_line(repository: Repository, conversation: str, good: str | None, bad: str | None) -> list[BisectPoint]:
    """Return the commits from the good to the bad one along first parents, oldest first."""
    revision = resolve_revision(repository, conversation)
    if bad is not None:
        revision = resolve_revision(repository, bad, revision.conversation)
    start = None if good is None else resolve_revision(repository, good, revision.conversation)
    points: list[BisectPoint] = []
    next_oids: tuple[Oid, ...] = (revision.oid,)
    while next_oids:
        commit = read_commit(repository, next_oids[0])
        points.append(BisectPoint(revision.conversation, commit.oid, None if is_root(commit) else header_of(commit)))
        next_oids = () if is_root(commit) or (start and commit.oid == start.oid) else commit.parents
    if start is not None and points[-1].oid != start.oid:
        raise Refused(
            f"the good message {good} is not on the line of first parents below {bad or conversation}",
            hint=f"see: scopes log {quote(conversation)} --graph",
        )
    if len(points) < 2:
        raise Refused("there is no message between good and bad", hint="see: scopes help bisect")
    return points[::-1]


def _name(point: BisectPoint) -> str:
    return f"message {point.head.id[:8]}" if point.head is not None else f"the beginning of {point.conversation}"
