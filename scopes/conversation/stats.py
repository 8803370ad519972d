"""`files` and `stats`: what the messages of a conversation, of a branch or of the whole store add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

from scopes.clock import format_seconds, known_seconds
from scopes.history.activity import Tokens, add_up, tokens_of
from scopes.history.handles import resolve_scope, walk_messages
from scopes.history.messages import MessageHeader, read_root
from scopes.history.metadata import read_metadata
from scopes.history.names import conversation_ids
from scopes.history.titles import Heading, read_heading
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid
from scopes.model.encoding import file_leaf
from scopes.model.message import COPIED, FILE_WRITES, Message, file_operations
from scopes.model.tools import is_refused
from scopes.result import Note, Result
from scopes.store.objects import read_commit
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """One file: the number of uses per operation, and the ids of the messages that used it, oldest first."""

    path: str
    operations: dict[str, int]
    messages: tuple[MessageId, ...]
    last_touch: str | None
    last_author: AgentName
    last_operation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileList(Result):
    """The files of a conversation, most recently used first, then by path.

    `branch` is the only branch that counts, None for all `branches`. `cwd` is the directory of the conversation.
    """

    conversation: ConversationId
    files: tuple[FileRow, ...]
    branch: BranchName | None = None
    branches: tuple[BranchName, ...] = ()
    cwd: str | None = None
    heading: Heading | None = None


@dataclass(slots=True)
class _FileUses:
    path: str
    last: MessageHeader
    last_operation: str
    operations: dict[str, int] = field(default_factory=dict)
    messages: list[MessageId] = field(default_factory=list)


def files(repository: Repository, where: str) -> FileList:
    """Collect every file that a message of a conversation, or of `CONV/BRANCH`, read, changed or mentioned.

    Raises:
        NotFound, Ambiguous: the conversation or the branch cannot be resolved.
    """
    scope = resolve_scope(repository, where)
    cwd = read_root(repository, read_commit(repository, next(iter(scope.tips.values()))), None).cwd
    cwd = cwd or read_metadata(repository, scope.conversation).directory
    uses_by_key: dict[str, _FileUses] = {}
    key_of = lru_cache(maxsize=None)(partial(file_leaf, base=cwd))
    callers: dict[Oid, AgentName] = {}
    for head, message in walk_messages(repository, scope):
        callers[head.oid] = _caller(head, callers)
        for path, operation in file_operations(message):
            uses = uses_by_key.setdefault(key_of(path), _FileUses(path, head, operation))
            if path.endswith(f"/{uses.path}"):
                uses.path = path  # the absolute one
            uses.operations[operation] = uses.operations.get(operation, 0) + 1
            if head.time >= uses.last.time:
                uses.last, uses.last_operation = head, operation
            if not uses.messages or uses.messages[-1] != head.id:
                uses.messages.append(head.id)
    rows = [_row(uses, callers[uses.last.oid]) for uses in sorted(uses_by_key.values(), key=lambda uses: uses.path)]
    rows.sort(key=lambda row: row.last_touch or "", reverse=True)
    return FileList(
        conversation=scope.conversation,
        files=tuple(rows),
        branch=scope.branch,
        branches=tuple(scope.tips),
        cwd=cwd,
        heading=read_heading(repository, scope.conversation),
    )


def _caller(head: MessageHeader, callers: Mapping[Oid, AgentName]) -> AgentName:
    """Return the author of a message or, if the author is a tool, the agent that called it."""
    parent = head.parents[0] if head.parents and head.author_kind == "tool" else None
    return head.author if parent is None else callers.get(parent, head.author)


def _row(uses: _FileUses, author: AgentName) -> FileRow:
    return FileRow(
        path=uses.path,
        operations=uses.operations,
        messages=tuple(uses.messages),
        last_touch=known_seconds(uses.last.time),
        last_author=author,
        last_operation=uses.last_operation,
    )


UNKNOWN = "unknown"
_WORKING = frozenset({"agent", "tool"})  # kinds of author
_NO_REAL_TIME = frozenset({COPIED, "none"})  # precisions


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats(Result):
    """Counts over all branches, each message once. Mappings are sorted by count, then by name; times are RFC 3339.

    Without a `conversation` the counts are those of the whole store, where a history shared by several conversations
    counts once; `branch` is the only branch that was counted. `files` were read or changed, `files_changed` were
    changed. `tool_errors` counts failed calls by tool: their result is an error, or an exit code other than 0.
    `tool_refusals` counts the calls that the user or a rule refused; they are not among the failed ones.
    `active_seconds` is the time in which agents and tools were working.
    """

    conversation: ConversationId | None
    conversations: int
    branches: int
    messages: int
    characters: int
    files: int
    files_changed: int
    tool_calls: int
    authors: Mapping[str, int]
    kinds: Mapping[str, int]
    models: Mapping[str, int]
    tools: Mapping[str, int]
    tool_errors: Mapping[str, int]
    tool_refusals: Mapping[str, int]
    tokens: Mapping[str, Tokens]
    first: str | None
    last: str | None
    duration_seconds: int | None
    active_seconds: int | None
    branch: BranchName | None = None
    heading: Heading | None = None

    @property
    def all_tokens(self) -> Tokens | None:
        """The tokens of all models together."""
        return add_up(self.tokens.values())


def stats(repository: Repository, where: str | None = None) -> Stats:
    """Count one conversation, one branch given as `CONV/BRANCH`, or the whole store if none is given.

    Only one message is in memory at a time, but all names, paths and ids.

    Raises:
        NotFound, Ambiguous: the conversation or the branch cannot be resolved.
    """
    scopes = [
        resolve_scope(repository, name) for name in ([where] if where is not None else conversation_ids(repository))
    ]
    counts = _Counts()
    for scope in scopes:
        counts.begin_conversation()
        for head, message in walk_messages(repository, scope):
            counts.add(head, message)
        counts.end_conversation()
    branches = sum(len(scope.tips) for scope in scopes)
    if where is None:
        return counts.result(None, len(scopes), branches)
    result = counts.result(scopes[0].conversation, 1, branches)
    return replace(result, branch=scopes[0].branch, heading=read_heading(repository, scopes[0].conversation))


class ActiveTime:
    """The time in which agents or tools were working in one conversation, in whole seconds.

    It is the union of the intervals from the parent of a message of an agent or tool to that message.
    """

    def __init__(self) -> None:
        self._times: dict[Oid, int] = {}
        self._intervals: list[tuple[int, int]] = []

    def add(self, head: MessageHeader, message: Message) -> None:
        """Add a message; its parents must have been added before."""
        if message.time is None or message.extra.get("precision") in _NO_REAL_TIME:
            return
        self._times[head.oid] = head.time
        start = self._times.get(head.parents[0]) if head.parents else None
        if start is not None and start <= head.time and head.author_kind in _WORKING:
            self._intervals.append((start, head.time))

    def seconds(self) -> int | None:
        """Return the length of the union of the intervals; None if there are none."""
        if not self._intervals:
            return None
        total, reached = 0, min(self._intervals)[0]
        for start, end in sorted(self._intervals):
            total += max(0, end - max(start, reached))
            reached = max(reached, end)
        return total


@dataclass(slots=True)
class _Counts:
    """The counts so far; `calls` (tool name by call id) and `active_time` are those of the current conversation."""

    seen: set[MessageId] = field(default_factory=set)
    authors: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    tokens: dict[str, Tokens] = field(default_factory=dict)
    paths: set[str] = field(default_factory=set)
    changed_paths: set[str] = field(default_factory=set)
    characters: int = 0
    copied: int = 0
    first: int | None = None
    last: int | None = None
    active_seconds: int | None = None
    calls: dict[str, str] = field(default_factory=dict)
    active_time: ActiveTime = field(default_factory=ActiveTime)

    def begin_conversation(self) -> None:
        self.calls = {}
        self.active_time = ActiveTime()

    def end_conversation(self) -> None:
        seconds = self.active_time.seconds()
        if seconds is not None:
            self.active_seconds = (self.active_seconds or 0) + seconds

    def add(self, head: MessageHeader, message: Message) -> None:
        """Count a message if it is new; of a copy only remember the tools that its calls name."""
        is_new = head.id not in self.seen
        self._add_tools(message, is_new=is_new)
        if not is_new:
            return
        self.seen.add(head.id)
        self.active_time.add(head, message)
        self.authors[message.author.name] += 1
        self.kinds[message.kind] += 1
        if message.time is not None:
            self.first = head.time if self.first is None else min(self.first, head.time)
            self.last = head.time if self.last is None else max(self.last, head.time)
        self.characters += len(message.text)
        self.copied += message.extra.get("precision") == COPIED
        for path, operation in file_operations(message):
            self.paths.add(path)
            if operation in FILE_WRITES:
                self.changed_paths.add(path)
        if message.model is not None:
            self.models[message.model] += 1
        tokens = tokens_of(message)
        if tokens is not None:
            model = message.model or UNKNOWN
            self.tokens[model] = tokens.plus(self.tokens.get(model, Tokens()))

    def _add_tools(self, message: Message, *, is_new: bool) -> None:
        for part in message.parts:
            call_id = part.fields.get("call_id")
            if part.type == "tool_call":
                name = str(part.fields.get("name", UNKNOWN))
                self.tools[name] += is_new
                if isinstance(call_id, str):
                    self.calls[call_id] = name
            elif part.type == "tool_result" and is_new:
                name = self.calls.get(call_id, UNKNOWN) if isinstance(call_id, str) else UNKNOWN
                if is_refused(part):
                    self.refusals[name] += 1
                elif part.fields.get("is_error") is True:
                    self.errors[name] += 1

    def result(self, conversation: ConversationId | None, conversations: int, branches: int) -> Stats:
        first, last = self.first, self.last
        return Stats(
            conversation=conversation,
            conversations=conversations,
            branches=branches,
            messages=len(self.seen),
            characters=self.characters,
            files=len(self.paths),
            files_changed=len(self.changed_paths),
            tool_calls=self.tools.total(),
            authors=_sort_by_count(self.authors),
            kinds=_sort_by_count(self.kinds),
            models=_sort_by_count(self.models),
            tools=_sort_by_count(self.tools),
            tool_errors=_sort_by_count(self.errors),
            tool_refusals=_sort_by_count(self.refusals),
            tokens=dict(sorted(self.tokens.items(), key=lambda item: (-(item[1].input or 0), item[0]))),
            first=format_seconds(first) if first is not None else None,
            last=format_seconds(last) if last is not None else None,
            duration_seconds=last - first if first is not None and last is not None else None,
            active_seconds=self.active_seconds,
            notes=(_copied_note(self.copied),) if self.copied else (),
        )


def _copied_note(messages: int) -> Note:
    text = f"{messages} of the messages were copied from a session that was not imported; it has their tokens and times"
    return Note(text, hint="messages and calls are counted, their tokens are not: import that session as well")


def _sort_by_count(counter: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in sorted(counter.items(), key=lambda item: (-item[1], item[0])) if count}
