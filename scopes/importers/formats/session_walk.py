"""Walk the records of a source with a reader that turns them into events: of a session, or of the runs in a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, Protocol

from scopes.importers.formats.base import SNIFF_BYTES, Source
from scopes.importers.formats.events import Event, Session
from scopes.importers.formats.json_lines import Record
from scopes.importers.formats.stream_documents import walk_stream


class RecordReader(Protocol):
    """Turns the records of one session into events, in their order."""

    session: Session

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""

    def finish(self) -> Iterator[Event]:
        """Yield the last events and the Ending."""


class RunReader(RecordReader, Protocol):
    """A reader of one run of a stream that may have several."""

    def ends_at(self, value: Mapping[str, Any]) -> bool:
        """Return True if a record begins another session."""

    def next_run(self, value: dict[str, Any]) -> RunReader:
        """Return the reader of the session that a record begins."""


WalkRecords = Callable[[BinaryIO, int], Iterable[Record]]


def read_beginning(source: Source) -> bytes:
    """Return as much of a source as its format is recognized by."""
    with source.open() as stream:
        return stream.read(min(SNIFF_BYTES, source.size))


def walk_session(source: Source, reader: RecordReader, walk: WalkRecords = walk_stream) -> Iterator[Event]:
    """Yield the Session of a reader, and what it makes of all records of the source."""
    yield reader.session
    with source.open() as stream:
        for record in walk(stream, source.size):
            yield from reader.read(record)
    yield from reader.finish()


def walk_runs(source: Source, reader: RunReader) -> Iterator[Event]:
    """Yield the events of each run in a source; `reader` is that of the first one."""
    yield reader.session
    with source.open() as stream:
        for record in walk_stream(stream, source.size):
            if record.value is not None and reader.ends_at(record.value):
                yield from reader.finish()
                reader = reader.next_run(record.value)
                yield reader.session
            yield from reader.read(record)
    yield from reader.finish()
