"""`files` and `stats`: what the messages of a conversation, of a branch or of the whole store add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from operator import attrgetter
from typing import Final

from scopes.clock import format_seconds, known_seconds
from scopes.history.activity import Tokens, add_up, tokens_of
from scopes.history.handles import Heading, read_heading, resolve_scope, walk_messages
from scopes.history.messages import MessageHeader, read_root
from scopes.history.metadata import read_metadata
from scopes.history.names import conversation_ids
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid
from scopes.model.canonical_json import file_leaf, relative_path
from scopes.model.message import COPIED, FILE_WRITES, Message, file_operations
from scopes.model.tools import is_refused
from scopes.result import INLINE, OMIT_EMPTY, Column, Note, Result, counted, shown
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

    @property
    def counts(self) -> str:
        """How often each operation was done: `edit:2,read:1`."""
        return ",".join(f"{name}:{count}" for name, count in self.operations.items())

    @property
    def uses(self) -> int:
        """How many messages used it."""
        return len(self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileList(Result):
    """The files of a conversation, most recently used first, then by path.

    `branch` is the only branch that counts, None for all `branches`. `cwd` is the directory of the conversation.
    """

    rows_in = "files"
    rows_seen = "relative"
    columns = (
        Column("path", form="path"),
        Column("counts", "Operations"),
        Column("uses", "Messages", "count", "pipe"),
        Column("last_touch", form="time"),
        Column("last_author", "Author"),
        Column("messages", "Message IDs", on="template"),
    )
    empty = "no files"

    conversation: ConversationId
    heading: Heading | None = field(default=None, metadata=INLINE)
    branch: BranchName | None = None
    branches: tuple[BranchName, ...] = field(default=(), metadata=OMIT_EMPTY)
    cwd: str | None = None
    files: tuple[FileRow, ...]

    @property
    def sentence(self) -> str:
        """Which branches are covered, if there are several."""
        several = self.branch is None and len(self.branches) > 1
        return f"on all {len(self.branches)} branches of {self.conversation}" if several else ""

    @property
    def relative(self) -> list[FileRow]:
        """The files with their paths in the directory of the conversation."""
        return [replace(row, path=relative_path(row.path, self.cwd)) for row in self.files]


def files(repository: Repository, where: str) -> FileList:
    """Collect every file that a message of a conversation, or of `CONV/BRANCH`, read, changed or mentioned.

    Raises:
        NotFound, Ambiguous: the conversation or the branch cannot be resolved.
    """
    scope = resolve_scope(repository, where)
    cwd = read_root(repository, read_commit(repository, next(iter(scope.tips.values()))), None).cwd
    cwd = cwd or read_metadata(repository, scope.conversation).directory
    key_of = lru_cache(maxsize=None)(partial(file_leaf, base=cwd))
    uses_of: dict[str, list[tuple[str, str, MessageHeader]]] = {}
    callers: dict[Oid, AgentName] = {}  # the author of each message or, if that is a tool, the agent that called it
    for head, message in walk_messages(repository, scope):
        parent = head.parents[0] if head.parents and head.author_kind == "tool" else None
        callers[head.oid] = head.author if parent is None else callers.get(parent, head.author)
        for path, operation in file_operations(message):
            uses_of.setdefault(key_of(path), []).append((path, operation, head))
    rows = []
    for uses in uses_of.values():
        _, last_operation, last = max(reversed(uses), key=lambda use: use[2].time)
        rows.append(
            FileRow(
                path=next((path for path, *_ in uses if path.startswith("/")), uses[0][0]),
                operations=dict(Counter(operation for _, operation, _ in uses)),
                messages=tuple(dict.fromkeys(head.id for *_, head in uses)),
                last_touch=known_seconds(last.time),
                last_author=callers[last.oid],
                last_operation=last_operation,
            )
        )
    rows.sort(key=attrgetter("path"))
    rows.sort(key=lambda row: row.last_touch or "", reverse=True)
    return FileList(
        conversation=scope.conversation,
        files=tuple(rows),
        branch=scope.branch,
        branches=tuple(scope.tips),
        cwd=cwd,
        heading=read_heading(repository, scope.conversation),
    )


UNKNOWN = "unknown"
_WORKING = frozenset({"agent", "tool"})  # kinds of author
_NO_REAL_TIME = frozenset({COPIED, "none"})  # precisions


_FIGURES: Final = (
    "branches", "messages", "characters", "files", "files_changed", "tool_calls", "first", "last", "duration_seconds",
    "active_seconds", "authors", "kinds", "models", "tools", "tool_errors", "tool_refusals",
)  # fmt: skip
_DURATIONS: Final = (("d", 86_400), ("h", 3_600), ("m", 60))


def _duration(seconds: int) -> str:
    """Return a duration in its largest unit."""
    unit, length = next(((unit, length) for unit, length in _DURATIONS if seconds >= length), ("s", 1))
    return f"{round(seconds / length, 1):g}{unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats(Result):
    """Counts over all branches, each message once. Mappings are sorted by count, then by name; times are RFC 3339.

    Without a `conversation` the counts are those of the whole store, where a history shared by several conversations
    counts once; `branch` is the only branch that was counted. `files` were read or changed, `files_changed` were
    changed. `tool_errors` counts failed calls by tool: their result is an error, or an exit code other than 0.
    `tool_refusals` counts the calls that the user or a rule refused; they are not among the failed ones.
    `active_seconds` is the time in which agents and tools were working.
    """

    columns = (
        Column("place", "Conversation"),
        Column("conversations", form="count"),
        Column("title"),
        Column("shown_messages", "Messages"),
        Column("shown_characters", "Text"),
        Column("period", "Time"),
        Column("duration"),
        Column("shown_files", "Files"),
        Column("shown_calls", "Tool calls"),
        Column("authors"),
        Column("kinds"),
        Column("models"),
        Column("tools"),
        Column("tool_errors", "Failed"),
        Column("tool_refusals", "Refused"),
        Column("shown_tokens", "Tokens", "lines"),
    )

    conversation: ConversationId | None
    branch: BranchName | None = None
    heading: Heading | None = field(default=None, metadata=INLINE)
    conversations: int | None
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
    tokens_by_model: Mapping[str, Tokens] = field(metadata=OMIT_EMPTY)
    first: str | None
    last: str | None
    duration_seconds: int | None
    active_seconds: int | None

    @property
    @shown
    def tokens(self) -> Tokens | None:
        """The tokens of all models together."""
        return add_up(self.tokens_by_model.values())

    @property
    def place(self) -> str:
        """The conversation, and the only branch that was counted."""
        return "/".join(filter(None, (self.conversation, self.branch)))

    @property
    def shown_messages(self) -> str:
        """The numbers of messages and branches."""
        every = "all " if self.branches > 1 else ""
        return f"{self.messages:,} on {every}{counted(self.branches, 'branch')}"

    @property
    def shown_characters(self) -> str:
        """The length of the texts."""
        return counted(self.characters, "character")

    @property
    def period(self) -> str:
        """The times of the first and the last message."""
        return f"{self.first} to {self.last}" if self.first and self.last else ""

    @property
    def duration(self) -> str:
        """How long that is, and how much of it was work."""
        work = f", {_duration(self.active_seconds)} active" if self.active_seconds else ""
        return f"{_duration(self.duration_seconds)}{work}" if self.duration_seconds else ""

    @property
    def shown_files(self) -> str:
        """The numbers of files."""
        return f"{self.files:,}" + (f", {self.files_changed:,} changed" if self.files_changed else "")

    @property
    def shown_calls(self) -> str:
        """The numbers of calls, and of those that failed or were refused."""
        ends = (("failed", self.tool_errors), ("refused", self.tool_refusals))
        return ", ".join([f"{self.tool_calls:,}", *(f"{sum(each.values()):,} {word}" for word, each in ends if each)])

    @property
    def shown_tokens(self) -> list[str]:
        """The tokens of each model, and of several together."""
        every = {"all": self.tokens} if len(self.tokens_by_model) > 1 and self.tokens else {}
        return [
            f"{model}: "
            + ", ".join(
                f"{name.replace('_', ' ')} {count:,}" for name, count in tokens._asdict().items() if count is not None
            )
            for model, tokens in {**self.tokens_by_model, **every}.items()
        ]

    @property
    def figures(self) -> dict[str, object]:
        """All counts."""
        whose = ("conversation",) if self.conversation is not None else ("conversations",)
        models = {model: tokens._asdict() for model, tokens in self.tokens_by_model.items()}
        tokens = {} if self.tokens is None else {"tokens": {**self.tokens._asdict(), **models}}
        return {name: getattr(self, name) for name in (*whose, *_FIGURES)} | tokens


def stats(repository: Repository, where: str | None = None) -> Stats:
    """Count one conversation, one branch given as `CONV/BRANCH`, or the whole store if none is given.

    Only one message is in memory at a time, but all names, paths and ids.

    Raises:
        NotFound, Ambiguous: the conversation or the branch cannot be resolved.
    """
    scopes = [
        resolve_scope(repository, name) for name in ([where] if where is not None else conversation_ids(repository))
    ]
    counts = Counts()
    for scope in scopes:
        counts.add_conversation(walk_messages(repository, scope))
    one = scopes[0] if where is not None else None
    first, last = (None, None) if not counts.times else (min(counts.times), max(counts.times))
    text = f"{counts.copied} of the messages were copied from a session that was not imported"
    hint = "messages and calls are counted, their tokens are not: import that session as well"
    return Stats(
        conversation=None if one is None else one.conversation,
        conversations=len(scopes) if one is None else None,
        branches=sum(len(scope.tips) for scope in scopes),
        messages=len(counts.seen),
        characters=counts.characters,
        files=len(counts.paths),
        files_changed=len(counts.changed_paths),
        tool_calls=counts.tools.total(),
        authors=_sort_by_count(counts.authors),
        kinds=_sort_by_count(counts.kinds),
        models=_sort_by_count(counts.models),
        tools=_sort_by_count(counts.tools),
        tool_errors=_sort_by_count(counts.errors),
        tool_refusals=_sort_by_count(counts.refusals),
        tokens_by_model=dict(sorted(counts.tokens.items(), key=lambda item: (-(item[1].input or 0), item[0]))),
        first=format_seconds(first) if first is not None else None,
        last=format_seconds(last) if last is not None else None,
        duration_seconds=last - first if first is not None and last is not None else None,
        active_seconds=counts.active_seconds,
        branch=None if one is None else one.branch,
        heading=None if one is None else read_heading(repository, one.conversation),
        notes=(Note(f"{text}; it has their tokens and times", hint=hint),) if counts.copied else (),
    )


def _add_up_intervals(intervals: Sequence[tuple[int, int]]) -> int:
    """Return the length of the union of intervals in seconds."""
    total = reached = 0
    for start, end in sorted(intervals):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


@dataclass(slots=True)
class Counts:
    """The counts so far."""

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
    times: set[int] = field(default_factory=set)
    active_seconds: int | None = None

    def add_conversation(self, messages: Iterable[tuple[MessageHeader, Message]]) -> None:
        """Count the messages of a conversation that are new; of a copy only remember the tools that its calls name.

        Agents and tools are active from the parent of a message of theirs to that message.
        """
        calls: dict[str, str] = {}  # tool name by call id
        times: dict[Oid, int] = {}
        active: list[tuple[int, int]] = []
        for head, message in messages:
            is_new = head.id not in self.seen
            self._add_tools(message, calls, is_new=is_new)
            if not is_new:
                continue
            self._add(head, message)
            if message.time is None or message.extra.get("precision") in _NO_REAL_TIME:
                continue
            times[head.oid] = head.time
            start = times.get(head.parents[0]) if head.parents else None
            if start is not None and start <= head.time and head.author_kind in _WORKING:
                active.append((start, head.time))
        if active:
            self.active_seconds = (self.active_seconds or 0) + _add_up_intervals(active)

    def _add(self, head: MessageHeader, message: Message) -> None:
        self.seen.add(head.id)
        self.authors[message.author.name] += 1
        self.kinds[message.kind] += 1
        if message.time is not None:
            self.times.add(head.time)
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

    def _add_tools(self, message: Message, calls: dict[str, str], *, is_new: bool) -> None:
        for part in message.parts:
            call_id = part.fields.get("call_id")
            if part.type == "tool_call":
                name = str(part.fields.get("name", UNKNOWN))
                self.tools[name] += is_new
                if isinstance(call_id, str):
                    calls[call_id] = name
            elif part.type == "tool_result" and is_new:
                name = calls.get(call_id, UNKNOWN) if isinstance(call_id, str) else UNKNOWN
                if is_refused(part):
                    self.refusals[name] += 1
                elif part.fields.get("is_error") is True:
                    self.errors[name] += 1


def _sort_by_count(counter: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in sorted(counter.items(), key=lambda item: (-item[1], item[0])) if count}
