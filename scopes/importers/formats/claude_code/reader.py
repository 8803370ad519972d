"""A file read from its first record to its last: what closes a message, what is a state, what waits for its parent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scopes.importers.formats.base import Source
from scopes.importers.formats.claude_code.header import Header, Titles
from scopes.importers.formats.claude_code.message_builder import MessageBuilder
from scopes.importers.formats.claude_code.parent_links import DeferredRecords, ParentLink, ParentLinks
from scopes.importers.formats.claude_code.records import (
    NAME,
    is_message,
    is_state,
    parse_record,
    state_key,
    text_field,
    time_field,
    type_of,
)
from scopes.importers.formats.events import Ending, Event, Span, State, Unparsed
from scopes.importers.formats.json_lines import Record


class Reader:
    """The events of a file, record by record."""

    def __init__(self, source: Source, head: Header) -> None:
        self._part = head.part
        self._tree = ParentLinks(head.part)
        self._composer = MessageBuilder(self._tree, head.session_id)
        self._waiting = DeferredRecords(source)
        self._titles = Titles()
        self._bridged = 0
        self._cut: set[int] = set()

    def take(self, record: Record) -> Iterator[Event]:
        """Read the next record; yields what it is, or the message that it closes, or nothing yet."""
        value, span = record.value, record.span
        if record.problem is not None:
            yield Unparsed(spans=(span,), reason=record.problem)
        elif not isinstance(value, dict):
            yield Unparsed(spans=(span,), reason="no record of a session")
        elif not self._must_wait(value):
            yield from self._settle(span, value, self._tree.place(value))
            yield from self._follow(text_field(value, "uuid"))
        else:
            self._waiting.add(value["parentUuid"], span)
            if not is_message(value):
                yield self._state(span, value)

    def end(self) -> Iterator[Event]:
        """Read what waits in circles, close the last message and say where the file ends."""
        for span in self._waiting.leftovers():
            if span.offset not in self._cut:
                self._cut.add(span.offset)
                value = self._waiting.read(span)
                yield from self._resume(span, value, self._tree.place(value, cut=True))
                yield from self._follow(text_field(value, "uuid"))
        yield from self._composer.close()
        last = self._composer.last
        bridged = f"links to a parent that is not there: {self._bridged}; each such message follows the one before it"
        yield Ending(
            active=self._tree.last(None) or last,
            title=self._titles.best(self._tree),
            open=last,
            notes=(bridged,) if self._bridged else (),
        )

    def _must_wait(self, value: dict[str, Any]) -> bool:
        """Tell whether a record's parent comes later in the file."""
        parent, uuid = text_field(value, "parentUuid"), text_field(value, "uuid")
        if parent is None or parent == uuid or parent in self._tree or uuid in self._tree:
            return False
        return self._waiting.is_in_file(parent)

    def _follow(self, uuid: str | None) -> Iterator[Event]:
        """Read the records that waited for this one, and those that waited for them."""
        due = self._waiting.release(uuid)[::-1]
        while due:
            span = due.pop()
            if span.offset not in self._cut:
                value = self._waiting.read(span)
                yield from self._resume(span, value, self._tree.place(value))
                due += self._waiting.release(text_field(value, "uuid"))[::-1]

    def _resume(self, span: Span, value: dict[str, Any], place: ParentLink) -> Iterator[Event]:
        """Settle a record that has waited; a state was told when it was met."""
        if is_message(value):
            yield from self._settle(span, value, place)
        elif text_field(value, "uuid") not in self._tree:
            self._tree.pass_on(value, place)

    def _settle(self, span: Span, value: dict[str, Any], place: ParentLink) -> Iterator[Event]:
        if text_field(value, "uuid") in self._tree and (is_message(value) or is_state(value)):
            yield State(key=f"repeated/{state_key(value)}", spans=(span,), value=value, time=time_field(value))
            return
        if not is_message(value):
            if text_field(value, "uuid") not in self._tree:
                self._tree.pass_on(value, place)
            yield self._state(span, value)
            return
        saying = parse_record(value, self._agent_of(place))
        if saying is None:
            self._tree.pass_on(value, place)
            yield Unparsed(spans=(span,), reason=f"{value['type']} record without a readable message")
            return
        self._bridged += place.missing is not None and place.parent is not None
        yield from self._composer.say(span, value, saying, place)

    def _agent_of(self, place: ParentLink) -> str | None:
        """Name the sub-agent that a record belongs to; None on the main line of a session."""
        if place.side is not None:
            return self._composer.agent_of(place.side)
        return None if self._part is None else NAME

    def _state(self, span: Span, value: dict[str, Any]) -> State | Unparsed:
        if not is_state(value):
            return Unparsed(spans=(span,), reason=f"a record {type_of(value)}")
        self._titles.note(value)
        if value.get("type") == "progress":
            self._composer.calls.note_progress(value)
        return State(key=state_key(value), spans=(span,), value=value, time=time_field(value))
