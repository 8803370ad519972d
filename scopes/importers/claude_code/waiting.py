"""Records whose parent comes later in the file: kept as places in it, and read again when the parent has come."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from operator import itemgetter
from typing import Any

from scopes.importers.claude_code.records import text_of
from scopes.importers.format import Source
from scopes.importers.json_lines import walk_records
from scopes.importers.projection import Span


class Waiting:
    """The waiting records of a file, by the uuid that they wait for."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._spans: dict[str, list[Span]] = {}
        self._uuids: frozenset[str] | None = None

    def is_in_file(self, uuid: str) -> bool:
        """Tell whether any record of the file has this uuid; the first question reads the whole file once more."""
        if self._uuids is None:
            self._uuids = frozenset(self._walk_uuids())
        return uuid in self._uuids

    def add(self, parent: str, span: Span) -> None:
        """Let a record wait for its parent."""
        self._spans.setdefault(parent, []).append(span)

    def release(self, parent: str | None) -> list[Span]:
        """Return the records that waited for this parent, in file order."""
        return self._spans.pop(parent, []) if parent is not None else []

    def leftovers(self) -> Iterator[Span]:
        """Yield what waits for each other in a circle, in file order; what was released meanwhile is passed over."""
        left = [(span.offset, parent, span) for parent, spans in self._spans.items() for span in spans]
        yield from (span for _, parent, span in sorted(left, key=itemgetter(0)) if parent in self._spans)

    def read(self, span: Span) -> Any:
        """Read a waiting record again."""
        with self._source.open() as stream:
            stream.seek(span.offset)
            data = stream.read(span.length)
        return next(record.value for record in walk_records(BytesIO(data), len(data)))

    def _walk_uuids(self) -> Iterator[str]:
        with self._source.open() as stream:
            for record in walk_records(stream, self._source.size):
                uuid = text_of(record.value, "uuid") if isinstance(record.value, dict) else None
                if uuid is not None:
                    yield uuid
