"""Sessions of purged conversations in a file that has others, too, such as an export of all chats: they stay out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from scopes.errors import CannotImport
from scopes.importers.formats.base import name_source
from scopes.importers.formats.events import ByteRange, Draft, Ending, Event, Session, SessionRecord, Unparsed
from scopes.importers.listed_sessions import ListedSessions
from scopes.importers.session_commits import Segment
from scopes.importers.work_queue import QueuedSource

LEFT_OUT = "purged"  # what became of a record of such a session


def name_kept_sessions(queue: Sequence[QueuedSource], listed: ListedSessions) -> list[QueuedSource]:
    """Return the queue in which no file is named after a session that stays out, unless it has no other one."""
    return [_name_kept_session(queued, listed) for queued in queue]


def take_left_out(events: Iterator[Event]) -> list[Segment]:
    """Take the events of a session that stays out, and return where its records are."""
    found: list[ByteRange] = []
    for event in events:
        match event:
            case Draft() | SessionRecord() | Unparsed():
                found += event.spans
            case Ending():
                break
    return [Segment(span, state=LEFT_OUT) for span in sorted(found, key=lambda span: span.offset)]


def _name_kept_session(queued: QueuedSource, listed: ListedSessions) -> QueuedSource:
    if not listed.is_left_out(queued.session):
        return queued
    with suppress(OSError, CannotImport), name_source(queued.source):  # the import reports it
        for event in queued.format.walk_events(queued.source):
            if isinstance(event, Session) and not listed.is_left_out(event):
                return replace(queued, session=event, beginning=None)
    return queued
