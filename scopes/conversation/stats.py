"""`stats`: how large a conversation is or all of them are, who made it so, and what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from scopes.clock import format_seconds
from scopes.conversation.files import file_operations
from scopes.conversation.log import walk_all_messages
from scopes.history.messages import MessageHead
from scopes.history.revparse import conversation_ids, find_conversation, list_branch_tips
from scopes.history.usage import Tokens, add_up, tokens_of
from scopes.ids import ConversationId, MessageId, Oid
from scopes.model.message import FILE_WRITES, Message
from scopes.result import Note, Result
from scopes.store.repository import Repository

UNKNOWN = "unknown"
COPIED = "restamped"  # the precision of a time that a copy was given


_AT_WORK = frozenset({"agent", "tool"})
_UNTOLD = frozenset({"restamped", "none"})


class ActiveTime:
    """The stretches of one conversation in which somebody was at work, in whole seconds."""

    def __init__(self) -> None:
        self._times: dict[Oid, int] = {}
        self._stretches: list[tuple[int, int]] = []

    def add(self, head: MessageHead, message: Message) -> None:
        """Add a message; those that it stands on came before it."""
        if message.time is None or message.extra.get("precision") in _UNTOLD:
            return
        self._times[head.oid] = head.time
        before = self._times.get(head.parents[0]) if head.parents else None
        if before is not None and before <= head.time and head.author_kind in _AT_WORK:
            self._stretches.append((before, head.time))

    def seconds(self) -> int | None:
        """Add the stretches up, overlaps once; None where no message tells."""
        if not self._stretches:
            return None
        total, reached = 0, min(self._stretches)[0]
        for start, end in sorted(self._stretches):
            total += max(0, end - max(start, reached))
            reached = max(reached, end)
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats(Result):
    """Counts over all branches, each message once; names sorted by count, then by name. Times are RFC 3339.

    Without a `conversation` they are over the whole store, where a history that several conversations share still
    counts once. `files` were touched, `files_changed` not only read. `tool_errors` are the calls that failed, by tool:
    their results are errors, or exit codes that are not 0. `active_seconds` is the time in which agents and tools
    worked.
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
    tokens: Mapping[str, Tokens]
    first: str | None
    last: str | None
    duration_seconds: int | None
    active_seconds: int | None

    @property
    def all_tokens(self) -> Tokens | None:
        """The tokens of all models together."""
        return add_up(self.tokens.values())


def stats(repository: Repository, conversation: str | None = None) -> Stats:
    """Count messages, authors, kinds, models, tools, files and tokens of a conversation, or of the whole store.

    One message is in memory at a time; what stays are names, paths and ids.
    """
    chosen = None if conversation is None else find_conversation(repository, conversation)
    counted = [chosen] if chosen is not None else conversation_ids(repository)
    tally = _Tally()
    branches = 0
    for each in counted:
        branches += len(list_branch_tips(repository, each))
        tally.begin()
        for head, message in walk_all_messages(repository, each)[1]:
            tally.add(head, message)
        tally.end()
    return tally.result(chosen, len(counted), branches)


@dataclass(slots=True)
class _Tally:
    """The counts so far; `calls` and `activity` are those of the conversation at hand."""

    seen: set[MessageId] = field(default_factory=set)
    authors: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    tokens: dict[str, Tokens] = field(default_factory=dict)
    paths: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    characters: int = 0
    inherited: int = 0
    first: int | None = None
    last: int | None = None
    active: int | None = None
    calls: dict[str, str] = field(default_factory=dict)
    activity: ActiveTime = field(default_factory=ActiveTime)

    def begin(self) -> None:
        """Begin a conversation."""
        self.calls = {}
        self.activity = ActiveTime()

    def end(self) -> None:
        """End the conversation."""
        seconds = self.activity.seconds()
        if seconds is not None:
            self.active = (self.active or 0) + seconds

    def add(self, head: MessageHead, message: Message) -> None:
        """Count a message that was not counted yet; a copy only tells which tool its calls name."""
        new = head.id not in self.seen
        self._add_tools(message, new=new)
        if not new:
            return
        self.seen.add(head.id)
        self.activity.add(head, message)
        self.authors[message.author.name] += 1
        self.kinds[message.kind] += 1
        if message.time is not None:
            self.first = head.time if self.first is None else min(self.first, head.time)
            self.last = head.time if self.last is None else max(self.last, head.time)
        self.characters += len(message.text)
        self.inherited += message.extra.get("precision") == COPIED
        for path, operation in file_operations(message):
            self.paths.add(path)
            if operation in FILE_WRITES:
                self.changed.add(path)
        if message.model is not None:
            self.models[message.model] += 1
        tokens = tokens_of(message)
        if tokens is not None:
            model = message.model or UNKNOWN
            self.tokens[model] = tokens.plus(self.tokens.get(model, Tokens()))

    def _add_tools(self, message: Message, *, new: bool) -> None:
        for part in message.parts:
            identity = part.fields.get("call_id")
            if part.type == "tool_call":
                name = str(part.fields.get("name", UNKNOWN))
                self.tools[name] += new
                if isinstance(identity, str):
                    self.calls[identity] = name
            elif part.type == "tool_result" and new and part.fields.get("is_error") is True:
                self.errors[self.calls.get(identity, UNKNOWN) if isinstance(identity, str) else UNKNOWN] += 1

    def result(self, conversation: ConversationId | None, conversations: int, branches: int) -> Stats:
        """Return the counts."""
        first, last = self.first, self.last
        return Stats(
            conversation=conversation,
            conversations=conversations,
            branches=branches,
            messages=len(self.seen),
            characters=self.characters,
            files=len(self.paths),
            files_changed=len(self.changed),
            tool_calls=self.tools.total(),
            authors=_by_count(self.authors),
            kinds=_by_count(self.kinds),
            models=_by_count(self.models),
            tools=_by_count(self.tools),
            tool_errors=_by_count(self.errors),
            tokens=dict(sorted(self.tokens.items(), key=lambda item: (-(item[1].input or 0), item[0]))),
            first=format_seconds(first) if first is not None else None,
            last=format_seconds(last) if last is not None else None,
            duration_seconds=last - first if first is not None and last is not None else None,
            active_seconds=self.active,
            notes=(_inheritance(self.inherited),) if self.inherited else (),
        )


def _inheritance(messages: int) -> Note:
    text = f"{messages} of the messages were copied from a session that is not here; their tokens and times are its own"
    return Note(text, hint="they count with their calls, and their tokens do not: import that session as well")


def _by_count(counter: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in sorted(counter.items(), key=lambda item: (-item[1], item[0])) if count}
