"""Build messages from records, and attach usage and tool reports while a message is open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scopes.importers.formats.codex.record import ITEM, RolloutRecord, is_known_state
from scopes.importers.formats.codex.tool_calls import PendingCall, ToolReport
from scopes.importers.formats.codex.usage import sum_usage
from scopes.importers.formats.events import ByteRange, Draft, Ending, Event, SessionRecord, Unparsed
from scopes.importers.formats.fields import text_field
from scopes.importers.formats.unknown_parts import report_unknown_parts
from scopes.model.message import COPIED, Author, FileTouch, Part

ANSWER = "answer"
RESULTS = "tool-results"
ERROR = "error"
INTERRUPT = "interrupt"
MODEL_KINDS = frozenset({ANSWER, "summary"})


@dataclass(slots=True, kw_only=True)
class OpenMessage:
    """A message that later records may still add to; `copied` if it is a fork's copy of its parent's message."""

    key: str
    parent: str | None
    author: Author
    kind: str
    copied: bool
    time: str | None = None
    parts: list[Part] = field(default_factory=list)
    spans: list[ByteRange] = field(default_factory=list)
    native_ids: dict[str, None] = field(default_factory=dict)
    reply_to: str | None = None
    model: str | None = None
    usage: Mapping[str, Any] | None = None
    status: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    spawned_by: Mapping[str, str] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    results: dict[str, int] = field(default_factory=dict)
    touches: dict[int, tuple[FileTouch, ...]] = field(default_factory=dict)
    tools: set[str] = field(default_factory=set)

    @property
    def text(self) -> str:
        """Return all text of the message so far."""
        return "\n".join(part.text for part in self.parts if part.type == "text")

    def add_usage(self, usage: Mapping[str, Any], spans: list[ByteRange]) -> None:
        """Add token usage of the message, and the bytes of its records."""
        self.usage = sum_usage(self.usage, usage)
        self.spans += spans

    def add_result(self, fields: Mapping[str, Any], call: PendingCall | None) -> None:
        """Add the result of a tool call, the reports about it, and its files if it succeeded."""
        index = len(self.parts)
        self.parts.append(Part("tool_result", fields))
        if "call_id" in fields:
            self.results[fields["call_id"]] = index
        if call is not None:
            self.tools.add(call.tool)
            self.touches[index] = () if fields.get("is_error") else call.touches
            for report in call.reports:
                self.add_report(report)

    def add_report(self, report: ToolReport) -> None:
        """Add a report to a result that the message has already."""
        index = self.results[report.call_id]
        self.parts[index] = Part("tool_result", {**self.parts[index].fields, **report.fields})
        if report.touches is not None:
            self.touches[index] = report.touches
        self.spans.append(report.span)

    def draft(self) -> Draft:
        """Return the finished message."""
        touches = (touch for touched in self.touches.values() for touch in touched)
        precision = "none" if self.time is None else COPIED if self.copied else "exact"
        return Draft(
            key=self.key,
            parent=self.parent,
            author=self.author,
            kind=self.kind,
            parts=tuple(self.parts),
            spans=tuple(self.spans),
            native_ids=tuple(self.native_ids),
            time=self.time,
            precision=precision,
            reply_to=self.reply_to,
            files=tuple(dict.fromkeys(touches)),
            model=self.model,
            usage=self.usage,
            status=self.status,
            tool=next(iter(self.tools)) if len(self.tools) == 1 else None,
            cwd=self.cwd,
            git_branch=self.git_branch,
            context_root=self.kind == "compaction",
            spawned_by=self.spawned_by,
            extra=self.extra,
        )


class MessageBuilder:
    """Builds messages and states from records; events that cannot change any more are collected until taken.

    awaiting_usage: an answer that is followed by open tool results and has no usage yet
    parent: draft key that the next message follows
    copying: the current record is a copy
    """

    def __init__(self, git_branch: str | None) -> None:
        self.open: OpenMessage | None = None
        self.awaiting_usage: OpenMessage | None = None
        self.parent: str | None = None
        self.copying = False
        self.cwd: str | None = None
        self.model: str | None = None
        self._git_branch = git_branch
        self._latest: str | None = None
        self._ready: list[Event] = []

    def begin(self, record: RolloutRecord, author: Author, kind: str, parts: tuple[Part, ...] = ()) -> OpenMessage:
        """Close the open message and begin a new one with a record."""
        self.close()
        key = str(record.span.offset)
        self.open = OpenMessage(
            key=key,
            parent=self.parent,
            author=author,
            kind=kind,
            copied=self.copying,
            time=record.time,
            cwd=self.cwd,
            git_branch=self._git_branch,
        )
        self.parent = self._latest = key
        self.add(self.open, record, parts)
        return self.open

    def add(self, message: OpenMessage, record: RolloutRecord, parts: tuple[Part, ...] = ()) -> None:
        """Add a record to the open message."""
        message.spans.append(record.span)
        message.parts += parts
        name = text_field(record.payload, "id")
        if name is not None and record.kind == ITEM:
            message.native_ids[name] = None

    def continues(self, kind: str) -> OpenMessage | None:
        """Return the open message if the current record may continue it: same kind, both copies or both not."""
        message = self.open
        return message if message is not None and message.kind == kind and message.copied == self.copying else None

    def begin_results(self, record: RolloutRecord, author: Author, *, awaits_usage: bool) -> OpenMessage:
        """Begin a message of tool results; if the open answer still awaits its usage, it stays open with them."""
        answer = self.open if awaits_usage and self.open is not None and self.open.kind in MODEL_KINDS else None
        if answer is not None:
            self.open = None
        results = self.begin(record, author, RESULTS)
        self.awaiting_usage = answer
        return results

    def close_answer(self) -> None:
        """Close the answer that awaited its usage."""
        if self.awaiting_usage is not None:
            self._ready += report_unknown_parts(self.awaiting_usage.draft())
            self.awaiting_usage = None

    def close(self) -> None:
        """Close the open message."""
        self.close_answer()
        if self.open is not None:
            self._ready += report_unknown_parts(self.open.draft())
            self.open = None

    def add_state(self, record: RolloutRecord) -> None:
        """Add a record that belongs to no message, as a state if its type is known."""
        if is_known_state(record):
            self.add_state_spans(record.key, [record.span])
        else:
            self.reject(record, "a record of unknown type")

    def reject(self, record: RolloutRecord, reason: str) -> None:
        """Add a record that could not be read."""
        self._ready.append(Unparsed(spans=(record.span,), reason=f"{reason}: {record.key!a}"))

    def add_state_spans(self, key: str, spans: list[ByteRange]) -> None:
        """Add records as one state."""
        self._ready.append(SessionRecord(key=key, spans=tuple(spans)))

    def take_ready(self) -> list[Event]:
        """Return and remove the finished events."""
        ready, self._ready = self._ready, []
        return ready

    def ending(self, title: str | None) -> Ending:
        """Close the last message and return the Ending. That message is open, and an answer that awaits its usage."""
        first = self._latest if self.awaiting_usage is None else self.awaiting_usage.key
        self.close()
        return Ending(active=self.parent, title=title, open=first)
