"""A message while its lines are still coming."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from scopes.importers.formats.claude_code.calls import ToolCalls
from scopes.importers.formats.claude_code.parent_links import ParentLink, ParentLinks
from scopes.importers.formats.claude_code.records import (
    ANSWER,
    COMPACTION,
    INTERRUPT,
    NAME,
    RESULTS,
    ParsedRecord,
    object_field,
    read_part,
    text_field,
    time_field,
)
from scopes.importers.formats.claude_code.results import ParsedResults, read_results
from scopes.importers.formats.events import Draft, Span, Unparsed
from scopes.importers.formats.lossless_json import lossless_field
from scopes.importers.formats.unknown_parts import report_unknown_parts
from scopes.model.message import FileTouch, Part

MAX_BYTES = 32 << 20  # of one message's lines; what comes behind them is a message of its own
_CUT_SHORT = frozenset({"max_tokens", "model_context_window_exceeded"})


@dataclass(slots=True, kw_only=True)
class OpenMessage:
    """What the lines so far have said; `opening` holds what the first of them tells of time and place."""

    key: str
    place: ParentLink
    parent: str | None
    saying: ParsedRecord
    opening: Mapping[str, str | None]
    session: str | None = None
    spawned_by: Mapping[str, str] | None = None
    reply_to: str | None = None
    status: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    size: int = 0
    parts: list[Part] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    names: dict[str, None] = field(default_factory=dict)
    files: dict[FileTouch, None] = field(default_factory=dict)
    tools: dict[str, None] = field(default_factory=dict)
    usage: dict[str, Any] = field(default_factory=dict)

    def add(self, span: Span, value: dict[str, Any], parts: Iterable[Part]) -> None:
        """Add a line; of what every line of an answer repeats the last one counts."""
        before = self.spans[-1] if self.spans else None
        if before is not None and before.offset + before.length == span.offset:
            self.spans[-1] = Span(before.offset, before.length + span.length)
        else:
            self.spans.append(span)
        self.size += span.length
        self.parts += parts
        if self.saying.kind == ANSWER:
            message = object_field(value, "message")
            self._name(text_field(message, "id"), text_field(value, "requestId"))
            self.model = text_field(message, "model") or self.model
            self.stop_reason = text_field(message, "stop_reason") or self.stop_reason
            self.usage = object_field(message, "usage") or self.usage
        self._name(text_field(value, "uuid"))

    def add_results(self, span: Span, value: dict[str, Any], results: ParsedResults) -> None:
        """Add a record of results."""
        self.add(span, value, results.parts)
        self.files |= dict.fromkeys(results.files)
        self.tools |= dict.fromkeys(results.tools)
        self.status = results.status or self.status
        if self.reply_to is None and results.answer != self.parent:
            self.reply_to = results.answer

    def interrupt(self) -> None:
        """Mark an answer that the user stopped."""
        if self.saying.kind == ANSWER:
            self.status = "interrupted"

    def draft(self, counted: dict[str, int]) -> Draft:
        """Close the message; `counted` are the tokens that earlier messages of the same answer have reported."""
        opening = self.opening
        extra = {"session_id": self.session, "missing_parent": self.place.missing}
        return Draft(
            key=self.key,
            parent=self.parent,
            author=self.saying.author,
            kind=self.saying.kind,
            parts=tuple(self.parts),
            spans=tuple(self.spans),
            native_ids=tuple(self.names),
            time=opening["time"],
            precision="none" if opening["time"] is None else "exact",
            reply_to=self.reply_to,
            files=tuple(self.files),
            model=self.model,
            usage=describe_usage(self.usage, counted) if self.usage else None,
            stop_reason=self.stop_reason,
            status="truncated" if self.stop_reason in _CUT_SHORT else self.status,
            tool=next(iter(self.tools)) if len(self.tools) == 1 else None,
            cwd=opening["cwd"],
            git_branch=opening["git_branch"],
            context_root=self.saying.kind == COMPACTION or self.place.cleared,
            spawned_by=self.spawned_by,
            side=self.place.side,
            extra={name: known for name, known in extra.items() if known is not None},
        )

    def _name(self, *names: str | None) -> None:
        self.names |= dict.fromkeys(name for name in names if name is not None)


def opening_of(value: Mapping[str, Any]) -> dict[str, str | None]:
    """Return what a message's first record tells of time and place."""
    return {"time": time_field(value), "cwd": text_field(value, "cwd"), "git_branch": text_field(value, "gitBranch")}


class MessageBuilder:
    """The messages of a file while it is read; `session_id` is the one that needs no mention."""

    def __init__(self, tree: ParentLinks, session_id: str) -> None:
        self.calls = ToolCalls()
        self.last: str | None = None
        self._tree = tree
        self._session_id = session_id
        self._open: OpenMessage | None = None
        self._answered: set[str | None] = set()
        self._told: dict[str, tuple[str, dict[str, int]]] = {}
        self._agents: dict[str, str] = {}

    def agent_of(self, side: str) -> str:
        """Name the agent that speaks on a sub-agent's line."""
        return self._agents.get(side, NAME)

    def say(
        self, span: Span, value: dict[str, Any], saying: ParsedRecord, place: ParentLink
    ) -> Iterator[Draft | Unparsed]:
        """Add what a record says to the open message, or to a new one; yields the message that this closes."""
        if self._open is None or not self._joins(self._open, span, saying, place):
            if saying.kind == INTERRUPT and self._open is not None and self._open.key == place.parent:
                self._open.interrupt()
            yield from self.close()
            self._open = self._begin(span, value, saying, place)
        self._add(self._open, span, value, saying)
        self._tree.lead(value, self._open.key)

    def close(self) -> Iterator[Draft | Unparsed]:
        """Close the open message, if there is one."""
        if self._open is not None:
            answer = self._open.saying.answer
            counted = self._told[answer][1] if answer in self._told else {}
            yield from report_unknown_parts(self._open.draft(counted))
            if answer is not None:
                counts = read_counts(self._open.usage)
                self._told[answer] = self._open.key, {**counted, **counts}
            self.last = self._open.key
            self._open = None

    def _joins(self, open_message: OpenMessage, span: Span, saying: ParsedRecord, place: ParentLink) -> bool:
        """Tell whether a record goes on with the open message: a line of the same answer, a result beside results."""
        kind = open_message.saying.kind
        if kind != saying.kind or open_message.place.side != place.side or open_message.size + span.length > MAX_BYTES:
            return False
        if kind == ANSWER:
            return saying.answer is not None and saying.answer == open_message.saying.answer
        follows = {open_message.key, open_message.parent, open_message.place.parent}
        return kind == RESULTS and place.parent in follows

    def _begin(self, span: Span, value: dict[str, Any], saying: ParsedRecord, place: ParentLink) -> OpenMessage:
        key = str(span.offset)
        session = text_field(value, "sessionId")
        message = OpenMessage(
            key=key,
            place=place,
            parent=self._parent(saying, place),
            saying=saying,
            opening=opening_of(value),
            session=session if session != self._session_id else None,
            status=saying.status,
            spawned_by=self._spawner(saying, place.side),
        )
        if saying.kind == RESULTS:
            self._answered |= {message.parent, place.parent}
        self._tree.begin(key, place.side)
        return message

    def _parent(self, saying: ParsedRecord, place: ParentLink) -> str | None:
        """Return the message before; what an answer still says or gets after its first results goes on behind them."""
        late = saying.kind == RESULTS and place.parent is not None and place.parent in self._answered
        again = saying.answer in self._told and self._told[saying.answer][0] == place.parent
        return self._tree.last(place.side) if late or again else place.parent

    def _spawner(self, saying: ParsedRecord, side: str | None) -> dict[str, str] | None:
        """Return the call that began a sub-agent, with the first message of its line."""
        if side is None or self._tree.last(side) is not None:
            return None
        prompt = next((part.text for part in map(read_part, saying.blocks) if part.type == "text"), "")
        spawn = self.calls.find_spawn(side, prompt)
        if spawn is None:
            return None
        if spawn.agent is not None:
            self._agents[side] = spawn.agent
        return {"call_id": spawn.call_id}

    def _add(self, message: OpenMessage, span: Span, value: dict[str, Any], saying: ParsedRecord) -> None:
        if saying.kind == RESULTS:
            results = read_results(value, saying.blocks, self.calls)
            message.add_results(span, value, results)
            return
        message.add(span, value, [read_part(block) for block in saying.blocks])
        if saying.kind == ANSWER:
            for block in saying.blocks:
                self.calls.note(message.key, block)


_NAMES = {
    "input_uncached": "input_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
    "output": "output_tokens",
}


def read_counts(raw: dict[str, Any]) -> dict[str, int]:
    """Read the known counts of a usage object; input does not include what was cached."""
    counts = {ours: raw.get(theirs) for ours, theirs in _NAMES.items()}
    return {name: count for name, count in counts.items() if type(count) is int and count >= 0}


def describe_usage(raw: dict[str, Any], before: dict[str, int]) -> dict[str, Any]:
    """Lay out a usage; `before` was counted with earlier messages of the same answer, and is not counted again."""
    counts = read_counts(raw)
    return {
        **{name: max(0, count - before.get(name, 0)) for name, count in counts.items()},
        **lossless_field("raw", raw),
    }
