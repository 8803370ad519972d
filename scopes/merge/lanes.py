"""Describe merges for people: the stretches of merged branches in a log, their marks, and how conflicts were resolved.

A walk keeps each side of a merge together: the commits of the first parent, those that only the second parent has, then
the merge. Such a stretch is a lane. Lanes nest, and never overlap in another way, because the walk is depth-first. A
commit is in the lane of the merge that reaches it first, so criss-cross merges show every commit once.
The order depends on the merges and not on the state: after criss-cross merges two branches with the same state tree
show their commits in different orders. The order of one tip is the same on every machine.

A resolution is a notice that records how a conflict was resolved; the conflict's values are in the state of its commit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from scopes.history.activity import Activity
from scopes.history.messages import ROOT_KIND, MessageHeader, RecordedTimes, header_of, headers_of, shown_author
from scopes.history.metadata import read_metadata
from scopes.history.names import find_directory, list_branch_tips
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.merge.keys import NOUNS, decoded_key
from scopes.merge.plan import is_written_by_scopes, list_conflicts_at
from scopes.merge.resolve import chosen_values
from scopes.model.canonical_json import relative_path
from scopes.model.conflicts import decode_resolution
from scopes.model.message import FILES, Message
from scopes.result import plural
from scopes.sanitize import clip
from scopes.store.graph import split_histories
from scopes.store.objects import Commit
from scopes.store.repository import Repository

_LaneT = TypeVar("_LaneT")


class Lane(NamedTuple):
    """The commits from position `start` to before `end` of a walk, which a merge took from one of its parents.

    Attributes:
        merge: The position of the merge commit.
        target: The position of its first parent; None if the walk does not have it.
        outer: The index of the lane that this one is in; None if it is in the main line.
    """

    start: int
    end: int
    merge: int
    target: int | None
    outer: int | None

    @property
    def tip(self) -> int:
        """The position of the commit that was merged."""
        return self.end - 1


def lane_changes(before: Sequence[_LaneT], after: Sequence[_LaneT]) -> tuple[list[_LaneT], list[_LaneT]]:
    """Return the lanes that end between two messages, innermost first, and those that begin, outermost first.

    before, after: the lanes that each of the messages is in, the outermost first.
    """
    return [lane for lane in reversed(before) if lane not in after], [lane for lane in after if lane not in before]


class LaneMap:
    """The lanes of a walk.

    `commits` are those of `walk_oldest_first` of one or more tips, given in the same order.
    """

    def __init__(self, commits: Sequence[Commit], tips: Sequence[Oid] = ()) -> None:
        self.lanes: Sequence[Lane] = ()
        self._positions: Mapping[Oid, int] = {}
        if all(len(commit.parents) < 2 for commit in commits):
            return
        self._positions = {commit.oid: position for position, commit in enumerate(commits)}
        self.lanes = self._find(commits, tips)

    def find_position(self, oid: Oid) -> int | None:
        """Return the position of a commit; None if it is not in the walk, or the walk has no merges."""
        return self._positions.get(oid)

    def lanes_of(self) -> list[tuple[int, ...]]:
        """Return for each position the indexes of the lanes that it is in, the outermost first.

        Empty if there are no lanes.
        """
        found: list[tuple[int, ...]] = []
        stack: tuple[int, ...] = ()
        coming = 0
        for position in range(len(self._positions)):
            while stack and self.lanes[stack[-1]].end <= position:
                stack = stack[:-1]
            while coming < len(self.lanes) and self.lanes[coming].start == position:
                stack = (*stack, coming)
                coming += 1
            found.append(stack)
        return found

    def _find(self, commits: Sequence[Commit], tips: Sequence[Oid]) -> list[Lane]:
        """Follow the walk from its end to find out where each parent of a merge began.

        `begins` is the number of commits that the walk had yielded when it came to a position for the first time.
        """
        known = self._positions
        begins: dict[int, int] = {}
        cursor = 0
        for position in [known[tip] for tip in tips if tip in known] or [len(commits) - 1]:
            if position >= cursor:
                begins[position] = cursor
                cursor = position + 1
        found: list[tuple[int, int, int, int | None]] = []
        for position, commit in reversed(list(enumerate(commits))):
            cursor = begins[position]
            parents = [known[parent] for parent in commit.parents if parent in known]
            has_first = bool(commit.parents) and commit.parents[0] in known
            for number, parent in enumerate(parents):
                if parent >= cursor:
                    begins[parent] = cursor
                    if number or not has_first:
                        found.append((cursor, parent + 1, position, parents[0] if has_first else None))
                    cursor = parent + 1
        found.sort(key=lambda lane: (lane[0], -lane[1]))
        lanes: list[Lane] = []
        stack: list[int] = []
        for index, (start, end, merge, target) in enumerate(found):
            while stack and lanes[stack[-1]].end <= start:
                stack.pop()
            lanes.append(Lane(start, end, merge, target, stack[-1] if stack else None))
            stack.append(index)
        return lanes


_SUBJECT = "Resolved "  # how the text of a resolution begins


def may_be_resolution(head: MessageHeader) -> bool:
    """Return False if the commit alone shows that the message does not resolve a conflict."""
    return head.kind == "notice" and head.author_kind != "system" and head.subject.startswith(_SUBJECT)


def resolution_line(repository: Repository, head: MessageHeader, message: Message) -> str:
    """Return how a message resolved a conflict, as one line; empty if it did not.

    Raises:
        Corrupt, NotFound: the state of the message is damaged or missing.
    """
    document = message.extra.get("conflict")
    if not may_be_resolution(head) or not isinstance(document, dict) or document.get("status") != "resolved":
        return ""
    line = describe_resolution(repository, head.oid, document)
    return f"resolved {line}" if line else ""


def describe_resolution(repository: Repository, oid: Oid, document: Mapping[str, Any]) -> str:
    """Return how a conflict with a record in the state of a commit was resolved: `decision db: took source, by lead`.

    `document` is what the message of the resolution, or of the merge, stores about it; empty if that is not valid.

    Raises:
        Corrupt, NotFound: the state of the commit is damaged or missing.
    """
    key, resolution = document.get("key"), decode_resolution(document)
    if not isinstance(key, str) or resolution is None:
        return ""
    group, _, name = decoded_key(key).partition("/")
    what = f"{NOUNS.get(group, group)} {name}".strip()
    if group == FILES and resolution.choice == "both":
        return f"{what}: both sides edited it, and it was not merged here"
    values = " | ".join(dict.fromkeys(map(_value_text, resolved_values(repository, oid, document))))
    took = f"took {resolution.choice}" + (f" ({values})" if values else "")
    because = f": {resolution.reason}" if resolution.reason else ""
    outcome = values if resolution.choice == "value" else took
    return " ".join(f"{what}: {outcome}, by {resolution.actor}{because}".split())


def resolved_values(repository: Repository, oid: Oid, document: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the values that the resolution of a conflict chose; empty if the document is not valid.

    Raises:
        Corrupt, NotFound: the state of the commit is damaged or missing.
    """
    resolution = decode_resolution(document)
    if resolution is None:
        return ()
    record = None
    if resolution.choice != "value":
        record = list_conflicts_at(repository, oid).get(str(document.get("id")))
    return chosen_values(record, resolution)


def _value_text(value: Any) -> str:
    match value:
        case {"operation": str(operation)}:  # of a file: what is recorded of its text is no text for people
            return operation
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


ReadMessage = Callable[[MessageHeader], Message | None]
"""Returns a message with its amendments applied; None if it is retracted, or not to be read."""

_SHORT_ID = 8
_NOT_WRITTEN = frozenset({"meta", "notice", "system", "tool-results", ROOT_KIND})  # kinds of message
_MAX_READ = 2_000  # messages of a side, the newest ones
_MAX_AFTER = 100  # commits after a merge that are searched for resolutions
_MAX_AUTHORS, _MAX_FILES, _MAX_ITEMS = 3, 3, 3
_MAX_ITEM, _MAX_ITEMS_LENGTH, _MAX_LINE = 100, 300, 400  # characters


class LaneMark(NamedTuple):
    """A lane in words.

    Attributes:
        branch: The name of the merged branch, or the short id of its tip.
        into: The name of what it was merged into; None if it is not known.
        merge: The message id of the merge.
        fork: The newest message that both sides have, and `fork_number` its number, which is 0 for the root; None if
            they have none in common, or the walk does not have it.
        messages: How many messages only the merged branch had, as `diff` counts them.
        authors: The agents in the lane, or else the people.
        digest: A line for each side and one for the conflicts; empty if it was not requested.
    """

    branch: str
    into: str | None
    merge: MessageId
    fork: MessageId | None
    fork_number: int | None
    messages: int
    authors: tuple[str, ...]
    digest: tuple[str, ...] = ()

    def begin(self, fork: str | None = None) -> str:
        """Return the mark before the lane: `parallel branch alt, from message 60 (fork point), 5 messages, by codex`.

        `fork` replaces `message 60`, for an output without numbers.
        """
        place = f"{fork or f'message {self.fork_number}'} (fork point)" if self.fork_number else "the beginning"
        since = "" if self.fork is None else f", from {place}"
        return f"parallel branch {self.branch}{since}, {self.content()}"

    def content(self) -> str:
        """Return the number of messages and who wrote them: `5 messages, by codex`."""
        by = f", by {_listed(self.authors, _MAX_AUTHORS)}" if self.authors else ""
        return f"{_count(self.messages)}{by}"

    def end(self) -> str:
        """Return the mark after the lane: `end of branch alt; back on main`."""
        return f"end of branch {self.branch}" + (f"; back on {self.into}" if self.into is not None else "")


class MarkedLanes:
    """The lanes of a walk with their marks.

    `commits` are those of `walk_oldest_first`, `branch` is the branch that they were walked from, if it is known.
    """

    def __init__(
        self,
        repository: Repository,
        conversation: ConversationId,
        commits: Sequence[Commit],
        branch: BranchName | None,
        tips: Sequence[Oid] = (),
    ) -> None:
        self._repository = repository
        self._conversation = conversation
        self._branch = branch
        self._map = LaneMap(commits, tips)
        self._commits = commits
        self._lanes_at = [tuple(filter(self._is_marked, lanes)) for lanes in self._map.lanes_of()]

    def __bool__(self) -> bool:
        """Return True if there is a merge."""
        return bool(self._map.lanes)

    @cached_property
    def heads(self) -> Sequence[MessageHeader]:
        """The headers of the commits, in their order."""
        return [header_of(commit) for commit in self._commits]

    def _is_marked(self, number: int) -> bool:
        """Return False for the lane of a conflict-resolution branch whose target had moved: nobody made that branch."""
        first = header_of(self._commits[self._map.lanes[number].start])
        return first.kind != "system" or not is_written_by_scopes(first)

    @cached_property
    def _numbers(self) -> Mapping[MessageId, int]:
        return {head.id: number for number, head in enumerate(headers_of(self._commits), 1)}

    @cached_property
    def _names(self) -> Mapping[Oid, str]:
        """The names of merged branches by tip: what has the tip now, or else what the operation of the merge names."""
        tips = list_branch_tips(self._repository, self._conversation)
        entries = read_metadata(self._repository, self._conversation).branches
        shown = sorted(tips, key=lambda name: (name not in entries or entries[name].is_hidden, name), reverse=True)
        names: dict[Oid, str] = {tips[name]: name for name in shown if name != self._branch}
        times = RecordedTimes(self._repository)
        for lane in self._map.lanes:
            tip = self._commits[lane.tip].oid
            if tip not in names and (source := times.find_source(self._commits[lane.merge])):
                names[tip] = source
        return names

    def lanes_of(self, oid: Oid) -> tuple[int, ...]:
        """Return the numbers of the lanes that a commit is in, the outermost first."""
        position = self._map.find_position(oid)
        return () if position is None else self._lanes_at[position]

    def name_of(self, lane: int) -> str:
        """Return the name of the branch of a lane, or the short id of its tip."""
        tip = self._commits[self._map.lanes[lane].tip].oid
        return self._names.get(tip) or tip[:_SHORT_ID]

    def walk_marks(self, read: ReadMessage) -> Iterator[LaneMark]:
        """Yield the marks of all lanes with their digests, in the order of their merges."""
        lanes = self._map.lanes
        marked = filter(self._is_marked, range(len(lanes)))
        yield from (self.mark(number, read) for number in sorted(marked, key=lambda each: lanes[each].merge))

    def mark(self, number: int, read: ReadMessage | None = None) -> LaneMark:
        """Return the mark of a lane; with `read` also the digest of its merge."""
        lane = self._map.lanes[number]
        own, other, fork = self._sides_of(lane)
        first = None if lane.target is None else self.heads[lane.target]
        notice = None if first is None or not is_written_by_scopes(first) else first.oid  # it began a resolution
        target = {head.id for head in own if head.kind != ROOT_KIND and head.oid != notice}
        source = {head.id for head in other if head.kind != ROOT_KIND}
        ids = dict.fromkeys(head.id for head in self.heads[lane.start : lane.end] if _is_written(head))
        by_id = {head.id: head for head in self.heads[lane.start : lane.end]}
        agents = [shown_author(by_id[each]) for each in ids if by_id[each].author_kind == "agent"]
        outer = lane.outer
        while outer is not None and not self._is_marked(outer):
            outer = self._map.lanes[outer].outer
        into = self._branch if outer is None else self.name_of(outer)
        mark = LaneMark(
            branch=self.name_of(number),
            into=into,
            merge=self.heads[lane.merge].id,
            fork=None if fork is None else fork.id,
            fork_number=None if fork is None else self._numbers.get(fork.id, 0),
            messages=len(source - target),
            authors=tuple(dict.fromkeys(agents or [shown_author(by_id[each]) for each in ids])),
        )
        if read is None:
            return mark
        directory = find_directory(self._repository, self._conversation)
        since = " since the fork point" if mark.fork_number else ""
        lines = [
            _describe_side(f"{into or 'here'}{since}", len(target - source), own, read, directory),
            _describe_side(mark.branch, mark.messages, other, read, directory),
        ]
        return mark._replace(digest=(*lines, *self._describe_conflicts(lane, read)))

    def _sides_of(self, lane: Lane) -> tuple[list[MessageHeader], list[MessageHeader], MessageHeader | None]:
        """Return what each side of a merge added since both parted, oldest first, and the newest message of both.

        That is None if there is none, or the walk does not have it.
        """
        if lane.target is None:
            return [], list(self.heads[lane.start : lane.end]), None
        parents = self._commits[lane.target].oid, self._commits[lane.tip].oid
        bases, own, other = split_histories(self._repository, *parents)
        common = [place for place in map(self._map.find_position, bases) if place is not None]
        fork = self.heads[max(common)] if common else None
        return list(map(header_of, own)), list(map(header_of, other)), fork

    def _describe_conflicts(self, lane: Lane, read: ReadMessage) -> Iterator[str]:
        """Yield a line with the conflicts of a merge and how they were resolved, by rules or afterwards by somebody."""
        head = self.heads[lane.merge]
        message = read(head)
        document = None if message is None else message.extra.get("merge")
        resolved = document.get("resolved") if isinstance(document, dict) else None
        lines = [
            describe_resolution(self._repository, head.oid, each)
            for each in (resolved if isinstance(resolved, list) else ())
            if isinstance(each, dict)
        ]
        for after in islice(self.heads, lane.merge + 1, lane.merge + 1 + _MAX_AFTER):
            if len(after.parents) > 1:
                break
            if may_be_resolution(after) and (resolution := read(after)) is not None:
                lines.append(resolution_line(self._repository, after, resolution).removeprefix("resolved "))
        lines = _clip_items(list(filter(None, lines)))
        if lines:
            yield clip(f"conflicts resolved: {_listed(lines, _MAX_ITEMS, '; ')}", _MAX_LINE)


def _is_written(head: MessageHeader) -> bool:
    """Return True if a message is one that a person or an agent wrote, judged by its commit."""
    return head.kind not in _NOT_WRITTEN and head.author_kind != "injected" and not is_written_by_scopes(head)


def _describe_side(
    name: str, count: int, heads: Sequence[MessageHeader], read: ReadMessage, directory: str | None
) -> str:
    """Return what one side did: its number of messages, decisions, changed files below `directory`, last test run."""
    activity = Activity()
    decisions: dict[str, str] = {}
    for head in [head for head in heads if head.kind != ROOT_KIND][-_MAX_READ:]:
        message = read(head)
        if message is not None:
            activity.add(message)
            if message.kind == "decision" and message.payload is not None:
                decisions[str(message.payload.get("topic", ""))] = str(message.payload.get("decision", ""))
    decided = _clip_items([" ".join(f"{topic}: {text}".split()) for topic, text in decisions.items()])
    changed = [relative_path(path, directory) for path in activity.changed]
    facts = (
        _count(count),
        f"decided {_listed(decided, _MAX_ITEMS, '; ')}" if decided else None,
        f"changed {_listed(changed, _MAX_FILES)}" if changed else None,
        activity.last_test,
    )
    return clip(f"{name}: {'; '.join(filter(None, facts))}", _MAX_LINE)


def _clip_items(items: Sequence[str]) -> list[str]:
    """Cut the items of a line: the fewer of them are shown, the longer each may be."""
    most = max(_MAX_ITEM, _MAX_ITEMS_LENGTH // max(min(len(items), _MAX_ITEMS), 1))
    return [clip(item, most) for item in items]


def _count(messages: int) -> str:
    return f"{messages:,} {plural(messages, 'message')}"


def _listed(items: Sequence[str], most: int, separator: str = ", ") -> str:
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return separator.join(items[:most]) + more
