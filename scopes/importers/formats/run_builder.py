"""Turn the records of a run into messages, in order: answers, the results of their calls, prompts and errors.

For formats whose messages follow one another. A reader takes the records of a source one by one, and adds to the
messages of a `RunBuilder`; `walk_session` and `walk_runs` give it the records. Each line of history (the main one, and
one for each sub-agent) has at most one open message; a record of another line closes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol

from scopes.importers.formats.base import SNIFF_BYTES, Source
from scopes.importers.formats.events import (
    STREAM,
    ByteRange,
    Draft,
    Ending,
    Event,
    RunEnd,
    Session,
    SessionRecord,
    Unparsed,
)
from scopes.importers.formats.records import Record, walk_stream
from scopes.model.message import Author, FileTouch, Part
from scopes.model.tools import touches_of_call

ANSWER = "answer"
ERROR = "error"
META = "meta"
PROMPT = "prompt"
RESULTS = "tool-results"
HUMAN = Author("user", "human")
INJECTED = Author("user", "injected")
TOOL = Author("tool", "tool")
_MAX_WORD = 64
_COMPACTION = "compaction"  # its replacement history is raw but known


@dataclass(slots=True, kw_only=True)
class OpenMessage:
    """A message that later records may still add to; `answer` is the agent's id of an answer in several records."""

    key: str
    parent: str | None
    author: Author
    kind: str
    line: str | None = None
    answer: str | None = None
    time: str | None = None
    parts: list[Part] = field(default_factory=list)
    spans: dict[ByteRange, None] = field(default_factory=dict)
    native_ids: dict[str, None] = field(default_factory=dict)
    model: str | None = None
    usage: Mapping[str, Any] | None = None
    stop_reason: str | None = None
    status: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    reply_to: str | None = None
    spawned_by: Mapping[str, str] | None = None
    files: dict[FileTouch, None] = field(default_factory=dict)
    tools: dict[str, None] = field(default_factory=dict)
    context_root: bool = False
    extra: dict[str, Any] = field(default_factory=dict)

    def add_ids(self, *names: str | None) -> None:
        """Add the agent's own ids of the message, best first."""
        self.native_ids |= dict.fromkeys(name for name in names if name is not None)

    def draft(self) -> Draft:
        """Return the finished message."""
        return Draft(
            key=self.key,
            parent=self.parent,
            author=self.author,
            kind=self.kind,
            parts=tuple(self.parts),
            spans=tuple(self.spans),
            native_ids=tuple(self.native_ids),
            time=self.time,
            precision="none" if self.time is None else "exact",
            reply_to=self.reply_to,
            files=tuple(self.files),
            model=self.model,
            usage=self.usage,
            stop_reason=self.stop_reason,
            status=self.status,
            tool=next(iter(self.tools)) if len(self.tools) == 1 else None,
            cwd=self.cwd,
            git_branch=self.git_branch,
            context_root=self.context_root,
            spawned_by=self.spawned_by,
            side=self.line,
            extra=self.extra,
        )


class ParentLinks:
    """The messages that records of a session file became, by the ids with which records name their parents."""

    def __init__(self) -> None:
        self._drafts: dict[str, str | None] = {}

    def find(self, name: str | None) -> str | None:
        """Return the message of a record, or that of its next ancestor with one; None at the beginning."""
        return None if name is None else self._drafts.get(name)

    def knows(self, name: str | None) -> bool:
        """Return True if a record with this id came before."""
        return name in self._drafts

    def add(self, name: str | None, draft: str | None) -> None:
        """Add a record with its message, or with that of its parent."""
        if name is not None:
            self._drafts[name] = draft


class RunBuilder:
    """Collects events; `cwd` and `model` are those of messages that do not state their own.

    is_stream: mark the messages as those of an event stream, so that they count once beside those of a session file
    """

    def __init__(self, *, is_stream: bool) -> None:
        self.cwd: str | None = None
        self.model: str | None = None
        self.open: OpenMessage | None = None
        self.calls: dict[str, tuple[str, Part]] = {}  # message and call, by call id
        self._stream = is_stream
        self._last: dict[str | None, str] = {}
        self._ready: list[Event] = []

    @property
    def is_empty(self) -> bool:
        """True if there is no message yet."""
        return not self._last

    def begin(
        self,
        record: Record,
        author: Author,
        kind: str,
        parts: Iterable[Part] = (),
        *,
        time: str | None = None,
        line: str | None = None,
        spawned_by: Mapping[str, str] | None = None,
    ) -> OpenMessage:
        """Close the open message and begin one; `spawned_by` is the call that started its line."""
        self.close()
        parent = self._last.get(line)
        self.open = OpenMessage(
            key=str(record.span.offset),
            parent=parent,
            author=author,
            kind=kind,
            line=line,
            time=time,
            model=self.model if kind == ANSWER else None,
            cwd=self.cwd,
            spawned_by=spawned_by if parent is None else None,
            extra={STREAM: True} if self._stream else {},
        )
        self._last[line] = self.open.key
        self.add(record, parts)
        return self.open

    def continues(self, kind: str, line: str | None = None, answer: str | None = None) -> OpenMessage | None:
        """Return the open message if a record of this kind, line and answer belongs to it."""
        found = self.open
        return found if found is not None and (found.kind, found.line, found.answer) == (kind, line, answer) else None

    def add(self, record: Record, parts: Iterable[Part] = ()) -> None:
        """Add a record to the open message, with its parts; a second result of a call is left out."""
        message = self.open
        if message is None:
            raise AssertionError("there is no open message")
        message.spans[record.span] = None
        for part in parts:
            self._add_part(message, part)

    def add_result(
        self, record: Record, parts: Iterable[Part], *, time: str | None = None, line: str | None = None
    ) -> OpenMessage:
        """Add results of calls to the open message with results, or begin one; return it."""
        found = self.continues(RESULTS, line)
        if found is None:
            return self.begin(record, TOOL, RESULTS, parts, time=time, line=line)
        self.add(record, parts)
        return found

    def add_state(self, record: Record, key: str) -> None:
        """Add a record that is not a message."""
        self._ready.append(SessionRecord(key=key, spans=(record.span,), value=record.value))

    def reject(self, record: Record, reason: str | None = None) -> None:
        """Add a record that could not be read."""
        self._ready.append(Unparsed(spans=(record.span,), reason=record.problem or reason or "not a known record"))

    def close(self) -> None:
        """Close the open message."""
        if self.open is not None:
            self._ready += report_unknown_parts(self.open.draft())
            self.open = None

    def take_ready(self) -> list[Event]:
        """Return and remove the finished events."""
        ready, self._ready = self._ready, []
        return ready

    def end(
        self,
        *,
        title: str | None = None,
        run_end: RunEnd | None = None,
        active: str | None = None,
        opened: str | None = None,
    ) -> Ending:
        """Close the open message and return the Ending; the other events are ready.

        The session is at the last message of the main line, or at `active`. The open message may still change, and all
        messages from `opened` on.
        """
        if opened is None and self.open is not None:
            opened = self.open.key
        self.close()
        return Ending(active=active or self._last.get(None), title=title, open=opened, run_end=run_end)

    def finish(self, **known: Any) -> list[Event]:
        """Close the open message and return the last events of the session, with the Ending that `end` returns."""
        ending = self.end(**known)
        return [*self.take_ready(), ending]

    def _add_part(self, message: OpenMessage, part: Part) -> None:
        message.parts.append(part)
        call_id = part.fields.get("call_id")
        if not isinstance(call_id, str):
            return
        if part.type == "tool_call":
            self.calls.setdefault(call_id, (message.key, part))
        elif part.type == "tool_result" and call_id in self.calls:
            key, call = self.calls[call_id]
            if key != message.key and message.reply_to is None and key != message.parent:
                message.reply_to = key
            message.tools[str(call.fields.get("name") or "tool")] = None
            if part.fields.get("is_error") is not True:
                message.files |= dict.fromkeys(touches_of_call(call, part))


def report_unknown_parts(draft: Draft) -> Iterator[Draft | Unparsed]:
    """Yield an Unparsed event without bytes for each unknown part of a draft, then the draft."""
    start = min((span.offset for span in draft.spans), default=0)
    for part in draft.parts:
        if part.type == "raw" and not (draft.kind == _COMPACTION and _is_history(part)):
            yield Unparsed(spans=(ByteRange(start, 0),), reason=_describe(part))
    yield draft


def _is_history(part: Part) -> bool:
    return "json" not in part.fields or isinstance(part.fields["json"], dict | list)


def _describe(part: Part) -> str:
    value = part.fields.get("json")
    kind = value.get("type") if isinstance(value, dict) else None
    name = f"unknown part {kind[:_MAX_WORD]!a}" if isinstance(kind, str) and kind else "part without a type"
    return f"{name}, kept raw in its message"


class RecordReader(Protocol):
    """Turns the records of one session into events, in their order."""

    session: Session

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""

    def finish(self) -> Iterator[Event]:
        """Yield the last events and the Ending."""


class RunReader(RecordReader, Protocol):
    """A reader of one run of a stream that may have several."""

    def ends_at(self, value: Mapping[str, Any]) -> bool:
        """Return True if a record begins another session."""

    def next_run(self, value: dict[str, Any]) -> RunReader:
        """Return the reader of the session that a record begins."""


WalkRecords = Callable[[BinaryIO, int], Iterable[Record]]


def read_beginning(source: Source) -> bytes:
    """Return as much of a source as its format is recognized by."""
    with source.open() as stream:
        return stream.read(min(SNIFF_BYTES, source.size))


def walk_session(source: Source, reader: RecordReader, walk: WalkRecords = walk_stream) -> Iterator[Event]:
    """Yield the Session of a reader, and what it makes of all records of the source."""
    yield reader.session
    with source.open() as stream:
        for record in walk(stream, source.size):
            yield from reader.read(record)
    yield from reader.finish()


def walk_runs(source: Source, reader: RunReader) -> Iterator[Event]:
    """Yield the events of each run in a source; `reader` is that of the first one."""
    yield reader.session
    with source.open() as stream:
        for record in walk_stream(stream, source.size):
            if record.value is not None and reader.ends_at(record.value):
                yield from reader.finish()
                reader = reader.next_run(record.value)
                yield reader.session
            yield from reader.read(record)
    yield from reader.finish()
