"""Open the sources of an import: find the format and the session of each. Worker processes open many of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import NamedTuple, TypeAlias

from scopes.errors import CannotImport
from scopes.importers.beginning import Beginning, read_beginning
from scopes.importers.formats.base import Format, Source, choose_format, name_source
from scopes.importers.formats.events import Draft, Event, Session
from scopes.importers.workers import map_in_workers


class OpenedSource(NamedTuple):
    """The number of the format of a source, its first session, and the beginning of that, if it was read."""

    format: int
    session: Session
    beginning: Beginning | None


Opened: TypeAlias = "OpenedSource | CannotImport | OSError | None"
"""None for a source without a message."""


def open_each(
    sources: Sequence[Source],
    formats: Sequence[Format],
    *,
    workers: int,
    wants_beginning: Callable[[Session], bool],
) -> list[Opened]:
    """Open sources, or find why they cannot be opened. Each is read as far as its first message.

    The beginning of a session is read at once where `wants_beginning` says so: it needs the same records again.
    """
    return map_in_workers(lambda source: _open(source, formats, wants_beginning), sources, workers)


def _open(source: Source, formats: Sequence[Format], wants_beginning: Callable[[Session], bool]) -> Opened:
    try:
        with name_source(source):
            chosen, session, events = _read_to_message(source, formats)
    except (CannotImport, OSError) as error:
        return error
    if session is None:
        return None
    return OpenedSource(formats.index(chosen), session, _read_on(source, events) if wants_beginning(session) else None)


def _read_to_message(source: Source, formats: Sequence[Format]) -> tuple[Format, Session | None, Iterator[Event]]:
    """Return the format, the session if it has a message, and the events from the first message on."""
    chosen = choose_format(formats, source)
    events = chosen.walk_events(source)
    first = next(events, None)
    message = next((event for event in events if isinstance(event, Draft)), None)
    if not isinstance(first, Session) or message is None:
        return chosen, None, events
    return chosen, first, chain((message,), events)


def _read_on(source: Source, events: Iterable[Event]) -> Beginning:
    """Return the beginning of a session; an empty one if it cannot be read, which the import reports."""
    with suppress(OSError, CannotImport), name_source(source):
        return read_beginning(events)
    return Beginning()
