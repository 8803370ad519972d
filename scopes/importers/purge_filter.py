"""Keep what was purged out of an import: listed sessions are skipped, listed messages have their place and no content.

A session is on the list by the key of its source, by the root of its conversation, or by its name if it was recorded
live. One that the store has goes on: the list may be somebody else's. Messages are listed by their ids, hashes of the
content up to them, so that those of a copy are found too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from scopes.errors import CannotImport
from scopes.history.messages import write_root_commit
from scopes.history.sources import (
    Purged,
    name_of_live_session,
    source_key,
)
from scopes.importers.archive import Segment
from scopes.importers.formats.base import name_source
from scopes.importers.formats.events import ByteRange, Draft, Ending, Event, Session, SessionRecord, Unparsed
from scopes.importers.identity import source_key_of
from scopes.importers.source_queue import QueuedSource
from scopes.importers.targets import MIN_SESSION_ID, ImportTargets, root_of_session
from scopes.store.objects import ObjectsInMemory

STAYS_OUT: Final = "what was purged does not come back; begin a new session of the agent to go on"
LEFT_OUT: Final = "purged"  # what became of a record of a session that stays out


def is_left_out(targets: ImportTargets, purged: Purged, session: Session) -> bool:
    """Return True for a session of a purged conversation, unless the store has the session."""
    if not purged.conversations:
        return False
    root = write_root_commit(ObjectsInMemory(targets.repository), root_of_session(session), {})
    if purged.has_conversation(root):
        return True
    names = [source_key_of(session), source_key(session.format, session.native_id, None)]
    is_here = any(targets.was_imported(key) for key in names) or targets.has_conversation(root)
    unique = (name for name in (session.native_id, session.base or "") if len(name) >= MIN_SESSION_ID)
    names += map(name_of_live_session, unique)
    return not is_here and any(map(purged.has_conversation, names))


def name_kept_sessions(targets: ImportTargets, purged: Purged, queue: Sequence[QueuedSource]) -> list[QueuedSource]:
    """Return the queue in which no file is named after a session that stays out, unless it has no other one."""
    return [_name_kept_session(targets, purged, queued) for queued in queue]


def _name_kept_session(targets: ImportTargets, purged: Purged, queued: QueuedSource) -> QueuedSource:
    if not is_left_out(targets, purged, queued.session):
        return queued
    with suppress(OSError, CannotImport), name_source(queued.source):  # the import reports it
        for event in queued.format.walk_events(queued.source):
            if isinstance(event, Session) and not is_left_out(targets, purged, event):
                return replace(queued, session=event)
    return queued


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
