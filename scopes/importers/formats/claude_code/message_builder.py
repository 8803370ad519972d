"""Build messages from records: join the lines of an answer, and consecutive tool results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from scopes.importers.formats.claude_code.parent_links import ParentLink, ParentLinks
from scopes.importers.formats.claude_code.record import (
    ANSWER,
    COMPACTION,
    INTERRUPT,
    NAME,
    RESULTS,
    ParsedRecord,
    read_part,
)
from scopes.importers.formats.claude_code.tool_calls import ToolCalls
from scopes.importers.formats.claude_code.tool_results import ParsedResults, read_results
from scopes.importers.formats.events import ByteRange, Draft, Unparsed
from scopes.importers.formats.fields import object_field, text_field, time_field
from scopes.importers.formats.lossless_json import lossless_field
from scopes.importers.formats.unknown_parts import report_unknown_parts
from scopes.model.message import FileTouch, Part

MAX_BYTES = 32 << 20  # of the lines of one message; later lines start a new message
_USAGE_FIELDS = {
    "input_uncached": "input_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
    "output": "output_tokens",
}
_CUT_SHORT = frozenset({"max_tokens", "model_context_window_exceeded"})


@dataclass(slots=True, kw_only=True)
class OpenMessage:
    """A message that later records may still add to; `header` has time, cwd and git branch of its first record."""

    key: str
    link: ParentLink
    parent: str | None
    record: ParsedRecord
    header: Mapping[str, str | None]
    session: str | None = None
    spawned_by: Mapping[str, str] | None = None
    reply_to: str | None = None
    status: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    size: int = 0
    parts: list[Part] = field(default_factory=list)
    spans: list[ByteRange] = field(default_factory=list)
    names: dict[str, None] = field(default_factory=dict)
    files: dict[FileTouch, None] = field(default_factory=dict)
    tools: dict[str, None] = field(default_factory=dict)
    usage: dict[str, Any] = field(default_factory=dict)

    def add(self, span: ByteRange, value: dict[str, Any], parts: Iterable[Part]) -> None:
        """Add a line. Of the fields that every line of an answer repeats, the last value counts."""
        before = self.spans[-1] if self.spans else None
        if before is not None and before.offset + before.length == span.offset:
            self.spans[-1] = ByteRange(before.offset, before.length + span.length)
        else:
            self.spans.append(span)
        self.size += span.length
        self.parts += parts
        if self.record.kind == ANSWER:
            message = object_field(value, "message")
            self._add_names(text_field(message, "id"), text_field(value, "requestId"))
            self.model = text_field(message, "model") or self.model
            self.stop_reason = text_field(message, "stop_reason") or self.stop_reason
            self.usage = object_field(message, "usage") or self.usage
        self._add_names(text_field(value, "uuid"))

    def add_results(self, span: ByteRange, value: dict[str, Any], results: ParsedResults) -> None:
        """Add a record of tool results."""
        self.add(span, value, results.parts)
        self.files |= dict.fromkeys(results.files)
        self.tools |= dict.fromkeys(results.tools)
        self.status = results.status or self.status
        if self.reply_to is None and results.message != self.parent:
            self.reply_to = results.message

    def interrupt(self) -> None:
        """Mark an answer as stopped by the user."""
        if self.record.kind == ANSWER:
            self.status = "interrupted"

    def draft(self, counted: dict[str, int]) -> Draft:
        """Return the finished message; `counted` are the tokens that earlier messages of the same answer reported."""
        header = self.header
        extra = {"session_id": self.session, "missing_parent": self.link.missing}
        return Draft(
            key=self.key,
            parent=self.parent,
            author=self.record.author,
            kind=self.record.kind,
            parts=tuple(self.parts),
            spans=tuple(self.spans),
            native_ids=tuple(self.names),
            time=header["time"],
            precision="none" if header["time"] is None else "exact",
            reply_to=self.reply_to,
            files=tuple(self.files),
            model=self.model,
            usage=describe_usage(self.usage, counted) if self.usage else None,
            stop_reason=self.stop_reason,
            status="truncated" if self.stop_reason in _CUT_SHORT else self.status,
            tool=next(iter(self.tools)) if len(self.tools) == 1 else None,
            cwd=header["cwd"],
            git_branch=header["git_branch"],
            context_root=self.record.kind == COMPACTION or self.link.cleared,
            spawned_by=self.spawned_by,
            side=self.link.side,
            extra={name: known for name, known in extra.items() if known is not None},
        )

    def _add_names(self, *names: str | None) -> None:
        for name in names:
            if name is not None:
                self.names[name] = None


def _header_fields(value: Mapping[str, Any]) -> dict[str, str | None]:
    """Return time, cwd and git branch of a record."""
    return {"time": time_field(value), "cwd": text_field(value, "cwd"), "git_branch": text_field(value, "gitBranch")}


class MessageBuilder:
    """Builds the messages of a file, one open at a time; messages of another session than `session_id` name theirs."""

    def __init__(self, links: ParentLinks, session_id: str) -> None:
        self.calls = ToolCalls()
        self.last: str | None = None
        self._links = links
        self._session_id = session_id
        self._open: OpenMessage | None = None
        self._answered: set[str | None] = set()
        self._finished: dict[str, tuple[str, dict[str, int]]] = {}
        self._agents: dict[str, str] = {}

    def agent_of(self, side: str) -> str:
        """Return the name of the sub-agent of a side line."""
        return self._agents.get(side, NAME)

    def add(
        self, span: ByteRange, value: dict[str, Any], record: ParsedRecord, link: ParentLink
    ) -> Iterator[Draft | Unparsed]:
        """Add a record to the open message or to a new one; yield the message that this closes."""
        if self._open is None or not self._joins(self._open, span, record, link):
            if record.kind == INTERRUPT and self._open is not None and self._open.key == link.parent:
                self._open.interrupt()
            yield from self.close()
            self._open = self._begin(span, value, record, link)
        self._add_content(self._open, span, value, record)
        self._links.set_message(value, self._open.key)

    def close(self) -> Iterator[Draft | Unparsed]:
        """Close the open message, if there is one."""
        if self._open is not None:
            answer = self._open.record.answer
            counted = self._finished[answer][1] if answer in self._finished else {}
            yield from report_unknown_parts(self._open.draft(counted))
            if answer is not None:
                counts = read_counts(self._open.usage)
                self._finished[answer] = self._open.key, {**counted, **counts}
            self.last = self._open.key
            self._open = None

    def _joins(self, open_message: OpenMessage, span: ByteRange, record: ParsedRecord, link: ParentLink) -> bool:
        """Return True if a record belongs to the open message: a line of the same answer, or further tool results."""
        kind = open_message.record.kind
        if kind != record.kind or open_message.link.side != link.side or open_message.size + span.length > MAX_BYTES:
            return False
        if kind == ANSWER:
            return record.answer is not None and record.answer == open_message.record.answer
        follows = {open_message.key, open_message.parent, open_message.link.parent}
        return kind == RESULTS and link.parent in follows

    def _begin(self, span: ByteRange, value: dict[str, Any], record: ParsedRecord, link: ParentLink) -> OpenMessage:
        key = str(span.offset)
        session = text_field(value, "sessionId")
        message = OpenMessage(
            key=key,
            link=link,
            parent=self._parent_of(record, link),
            record=record,
            header=_header_fields(value),
            session=session if session != self._session_id else None,
            status=record.status,
            spawned_by=self._spawned_by(record, link.side),
        )
        if record.kind == RESULTS:
            self._answered |= {message.parent, link.parent}
        self._links.begin(key, link.side)
        return message

    def _parent_of(self, record: ParsedRecord, link: ParentLink) -> str | None:
        """Return the parent draft. Lines and results of an answer that come after its first results follow those."""
        after_results = record.kind == RESULTS and link.parent is not None and link.parent in self._answered
        continued = record.answer in self._finished and self._finished[record.answer][0] == link.parent
        return self._links.last(link.side) if after_results or continued else link.parent

    def _spawned_by(self, record: ParsedRecord, side: str | None) -> dict[str, str] | None:
        """Return the call that started a sub-agent, for the first message of its line."""
        if side is None or self._links.last(side) is not None:
            return None
        prompt = next((part.text for part in map(read_part, record.blocks) if part.type == "text"), "")
        spawn = self.calls.find_spawn(side, prompt)
        if spawn is None:
            return None
        if spawn.agent is not None:
            self._agents[side] = spawn.agent
        return {"call_id": spawn.call_id}

    def _add_content(self, message: OpenMessage, span: ByteRange, value: dict[str, Any], record: ParsedRecord) -> None:
        if record.kind == RESULTS:
            results = read_results(value, record.blocks, self.calls)
            message.add_results(span, value, results)
            return
        message.add(span, value, [read_part(block) for block in record.blocks])
        if record.kind == ANSWER:
            for block in record.blocks:
                self.calls.add(message.key, block)


def read_counts(raw: dict[str, Any]) -> dict[str, int]:
    """Return the known token counts of a usage object; input does not include cached tokens."""
    counts = {ours: raw.get(theirs) for ours, theirs in _USAGE_FIELDS.items()}
    return {name: count for name, count in counts.items() if type(count) is int and count >= 0}


def describe_usage(raw: dict[str, Any], before: dict[str, int]) -> dict[str, Any]:
    """Return the usage of a message, less what earlier messages of the same answer reported (`before`)."""
    counts = read_counts(raw)
    return {
        **{name: max(0, count - before.get(name, 0)) for name, count in counts.items()},
        **lossless_field("raw", raw),
    }
