"""A message while its records are still being read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scopes.importers.formats.codex.calls import PendingCall, ToolReport
from scopes.importers.formats.codex.record import ITEM, RolloutRecord, is_known_state, text_field
from scopes.importers.formats.codex.usage import add_usage
from scopes.importers.formats.events import Draft, Ending, Event, Span, State, Unparsed
from scopes.importers.formats.unknown_parts import report_unknown_parts
from scopes.model.message import Author, FileTouch, Part

ANSWER = "answer"
RESULTS = "tool-results"
ERROR = "error"
INTERRUPT = "interrupt"
MODEL_KINDS = frozenset({ANSWER, "summary"})


@dataclass(slots=True, kw_only=True)
class OpenMessage:
    """The message that the next record may still belong to; `copied` tells that a fork took it over."""

    key: str
    parent: str | None
    author: Author
    kind: str
    copied: bool
    time: str | None = None
    parts: list[Part] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
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
        """All text of the message so far."""
        return "\n".join(part.text for part in self.parts if part.type == "text")

    def pay(self, usage: Mapping[str, Any], spans: list[Span]) -> None:
        """Add what an answer used, and the records that tell it."""
        self.usage = add_usage(self.usage, usage)
        self.spans += spans

    def add_result(self, fields: Mapping[str, Any], call: PendingCall | None) -> None:
        """Add the result of a tool call: what is told of it, and the files that it touched if it went well."""
        place = len(self.parts)
        self.parts.append(Part("tool_result", fields))
        if "call_id" in fields:
            self.results[fields["call_id"]] = place
        if call is not None:
            self.tools.add(call.tool)
            self.touches[place] = () if fields.get("is_error") else call.touches
            for report in call.reports:
                self.report(report)

    def report(self, report: ToolReport) -> None:
        """Add to a result what is told of it afterwards."""
        place = self.results[report.call_id]
        self.parts[place] = Part("tool_result", {**self.parts[place].fields, **report.fields})
        if report.touches is not None:
            self.touches[place] = report.touches
        self.spans.append(report.span)

    def draft(self) -> Draft:
        """Close the message."""
        touches = (touch for place in self.touches for touch in self.touches[place])
        precision = "none" if self.time is None else "restamped" if self.copied else "exact"
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
    """Puts records together to messages and states; `ready` are the events that nothing can change any more."""

    def __init__(self, git_branch: str | None) -> None:
        self.open: OpenMessage | None = None
        self.owed: OpenMessage | None = None  # an answer whose results are open, and whose usage may still be told
        self.position: str | None = None  # what the next message follows
        self.copying = False
        self.cwd: str | None = None
        self.model: str | None = None
        self._git_branch = git_branch
        self._latest: str | None = None
        self._ready: list[Event] = []

    def begin(self, line: RolloutRecord, author: Author, kind: str, parts: tuple[Part, ...] = ()) -> OpenMessage:
        """Begin a message with a record; the one before it is closed."""
        self.close()
        key = str(line.span.offset)
        self.open = OpenMessage(
            key=key,
            parent=self.position,
            author=author,
            kind=kind,
            copied=self.copying,
            time=line.time,
            cwd=self.cwd,
            git_branch=self._git_branch,
        )
        self.position = self._latest = key
        self.add(self.open, line, parts)
        return self.open

    def add(self, message: OpenMessage, line: RolloutRecord, parts: tuple[Part, ...] = ()) -> None:
        """Add a record to the open message."""
        message.spans.append(line.span)
        message.parts += parts
        name = text_field(line.payload, "id")
        if name is not None and line.kind == ITEM:
            message.native_ids[name] = None

    def continues(self, kind: str) -> OpenMessage | None:
        """Return the open message if it is of a kind, and as much or as little a copy as the record at hand."""
        message = self.open
        return message if message is not None and message.kind == kind and message.copied == self.copying else None

    def begin_results(self, line: RolloutRecord, author: Author, *, owed: bool) -> OpenMessage:
        """Begin the results of the open answer's tools; where it is `owed` its usage, it is closed only with them."""
        answer = self.open if owed and self.open is not None and self.open.kind in MODEL_KINDS else None
        if answer is not None:
            self.open = None
        results = self.begin(line, author, RESULTS)
        self.owed = answer
        return results

    def settle(self) -> None:
        """Close the answer that was owed its usage."""
        if self.owed is not None:
            self._ready += report_unknown_parts(self.owed.draft())
            self.owed = None

    def close(self) -> None:
        """Close the open message."""
        self.settle()
        if self.open is not None:
            self._ready += report_unknown_parts(self.open.draft())
            self.open = None

    def keep(self, line: RolloutRecord) -> None:
        """Keep a record that belongs to no message."""
        if is_known_state(line):
            self.keep_spans(line.key, [line.span], line.time)
        else:
            self.reject(line, "a record of unknown type")

    def reject(self, line: RolloutRecord, reason: str) -> None:
        """Keep a record that could not be read."""
        self._ready.append(Unparsed(spans=(line.span,), reason=f"{reason}: {line.key!a}"))

    def keep_spans(self, key: str, spans: list[Span], time: str | None = None) -> None:
        """Keep records that turned out to belong to no message."""
        self._ready.append(State(key=key, spans=tuple(spans), time=time))

    def take_ready(self) -> list[Event]:
        """Return what can be yielded now, and forget it."""
        ready, self._ready = self._ready, []
        return ready

    def ending(self, title: str | None) -> Ending:
        """End the source; its last message stays open, and an answer before it that may still be told its usage."""
        first = self._latest if self.owed is None else self.owed.key
        self.close()
        return Ending(active=self.position, title=title, open=first)
