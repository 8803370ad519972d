"""Read the records of a file in order: build messages, keep states, defer records that precede their parent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scopes.importers.formats.base import Source
from scopes.importers.formats.claude_code.header import Header, Titles
from scopes.importers.formats.claude_code.message_builder import MessageBuilder
from scopes.importers.formats.claude_code.parent_links import DeferredRecords, ParentLink, ParentLinks
from scopes.importers.formats.claude_code.record import NAME, is_message, is_state, parse_record, state_key, type_of
from scopes.importers.formats.events import ByteRange, Ending, Event, SessionRecord, Unparsed
from scopes.importers.formats.fields import text_field
from scopes.importers.formats.json_lines import Record


class Reader:
    """Turns the records of a file into events."""

    def __init__(self, source: Source, header: Header) -> None:
        self._sub_file = header.sub_file
        self._links = ParentLinks(header.sub_file)
        self._builder = MessageBuilder(self._links, header.session_id)
        self._deferred = DeferredRecords(source)
        self._titles = Titles()
        self._bridged = 0
        self._cut: set[int] = set()

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value, span = record.value, record.span
        if record.problem is not None:
            yield Unparsed(spans=(span,), reason=record.problem)
        elif not isinstance(value, dict):
            yield Unparsed(spans=(span,), reason="not a JSON object")
        elif not self._must_defer(value):
            yield from self._add(span, value, self._links.resolve(value))
            if self._deferred:
                yield from self._release(text_field(value, "uuid"))
        else:
            self._deferred.add(value["parentUuid"], span)
            if not is_message(value):
                yield self._state(span, value)

    def finish(self) -> Iterator[Event]:
        """Read deferred records in cycles, close the last message and yield the Ending."""
        for span in self._deferred.leftovers():
            if span.offset not in self._cut:
                self._cut.add(span.offset)
                value = self._deferred.read(span)
                yield from self._add_deferred(span, value, self._links.resolve(value, cut=True))
                yield from self._release(text_field(value, "uuid"))
        yield from self._builder.close()
        last = self._builder.last
        links = "1 link" if self._bridged == 1 else f"{self._bridged} links"
        bridged = f"{links} to a missing parent; each such message follows the previous one"
        yield Ending(
            active=self._links.last(None) or last,
            title=self._titles.best(self._links),
            open=last,
            notes=(bridged,) if self._bridged else (),
        )

    def _must_defer(self, value: dict[str, Any]) -> bool:
        """Return True if a record's parent comes later in the file."""
        parent = text_field(value, "parentUuid")
        if parent is None or parent in self._links:
            return False
        uuid = text_field(value, "uuid")
        return parent != uuid and uuid not in self._links and self._deferred.is_in_file(parent)

    def _release(self, uuid: str | None) -> Iterator[Event]:
        """Read the records that were deferred for this one, and in turn those deferred for them."""
        pending = self._deferred.release(uuid)[::-1]
        while pending:
            span = pending.pop()
            if span.offset not in self._cut:
                value = self._deferred.read(span)
                yield from self._add_deferred(span, value, self._links.resolve(value))
                pending += self._deferred.release(text_field(value, "uuid"))[::-1]

    def _add_deferred(self, span: ByteRange, value: dict[str, Any], link: ParentLink) -> Iterator[Event]:
        """Add a record that was deferred; a state was yielded when it was first read."""
        if is_message(value):
            yield from self._add(span, value, link)
        elif text_field(value, "uuid") not in self._links:
            self._links.set_transparent(value, link)

    def _add(self, span: ByteRange, value: dict[str, Any], link: ParentLink) -> Iterator[Event]:
        repeated, message = text_field(value, "uuid") in self._links, is_message(value)
        if repeated and (message or is_state(value)):
            yield SessionRecord(key=f"repeated/{state_key(value)}", spans=(span,), value=value)
            return
        if not message:
            if not repeated:
                self._links.set_transparent(value, link)
            yield self._state(span, value)
            return
        parsed = parse_record(value, self._agent_of(link))
        if parsed is None:
            self._links.set_transparent(value, link)
            yield Unparsed(spans=(span,), reason=f"{value['type']} record without a readable message")
            return
        self._bridged += link.missing is not None and link.parent is not None
        yield from self._builder.add(span, value, parsed, link)

    def _agent_of(self, link: ParentLink) -> str | None:
        """Return the name of the sub-agent that a record belongs to; None on the main line."""
        if link.side is not None:
            return self._builder.agent_of(link.side)
        return None if self._sub_file is None else NAME

    def _state(self, span: ByteRange, value: dict[str, Any]) -> SessionRecord | Unparsed:
        if not is_state(value):
            return Unparsed(spans=(span,), reason=f"a record {type_of(value)}")
        self._titles.add(value)
        if value.get("type") == "progress":
            self._builder.calls.add_progress(value)
        return SessionRecord(state_key(value), (span,), value)
