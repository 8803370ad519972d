"""Read a session of the Gemini CLI before 0.40: one object with the list of messages, rewritten at every change."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.importers.formats.base import Source
from scopes.importers.formats.events import Event, Session
from scopes.importers.formats.gemini.session import SessionReader, is_header
from scopes.importers.formats.gemini.stream import NAME
from scopes.importers.formats.object_lists import ObjectList, Shape, rest_event, walk_sessions


def _is_known(found: ObjectList) -> bool:
    return found.found and is_header(found.members)


_SHAPE = Shape("messages", _is_known)


def is_document(head: bytes) -> bool:
    """Return True if a source begins with such an object."""
    return b'"projectHash"' in head and _SHAPE.recognizes(head)


def walk_document(source: Source) -> Iterator[Event]:
    """Yield a Session, its drafts and an Ending."""
    yield from walk_sessions(source, _SHAPE, NAME, lambda found: _read(found, source.path))


def _read(found: ObjectList, path: str) -> tuple[Session, Iterator[Event]]:
    reader = SessionReader([found.members, *found.values()], path, edition=0)

    def walk() -> Iterator[Event]:
        yield from rest_event(found)
        for record in found.records:
            reader.read(record)
        yield from reader.finish()

    return reader.session, walk()
