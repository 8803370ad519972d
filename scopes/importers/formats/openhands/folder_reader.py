"""Read the files of a folder of OpenHands: what the conversation is, and its events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from scopes.importers.formats.events import Event, Session
from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.json_lines import Record
from scopes.importers.formats.lossless_json import decode
from scopes.importers.formats.openhands.folders import EVENTS, SUB_AGENTS, TOP
from scopes.importers.formats.openhands.old_events import time_of_event
from scopes.importers.formats.openhands.reader import NAME, EventReader, is_event
from scopes.importers.formats.row_lines import Row, read_row
from scopes.importers.formats.stream_documents import first_records

_BEGINNING = f'{{"file":"{TOP}'.encode()
_ID = re.compile(r"([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})")


def is_folder_line(head: bytes) -> bool:
    """Return True if a source begins with a file of a folder of OpenHands."""
    return head.startswith(_BEGINNING)


class FolderReader(EventReader):
    """Turns the files of one conversation into events of ours."""

    def __init__(self, head: bytes) -> None:
        rows = [row for value in first_records(head) if (row := read_row(value)) is not None]
        documents = {row.table.rpartition("/")[2]: _document_of(row) or {} for row in rows}
        events = [value for row in rows if _is_event_file(row) and is_event(value := _document_of(row) or {})]
        super().__init__(events)
        state, about = documents.get("base_state.json", {}), documents.get("metadata.json", {})
        place = rows[0].table.removeprefix(TOP).split("/") if rows else ["unknown"]
        parent = place[0] if place[1:2] == [SUB_AGENTS] and len(place) > 2 else None
        self.title = text_field(about, "title") or text_field(object_field(state, "tags"), "title")
        self._builder.cwd = text_field(object_field(state, "workspace"), "working_dir")
        self.session = Session(
            format=NAME,
            native_id=_id_of(place[0] if parent is None else place[2]),
            created=time_of_event(events[0]) if events else None,
            cwd=self._builder.cwd,
            title=self.title,
            base=None if parent is None else _id_of(parent),
            spawned_by=None if parent is None else {"session": _id_of(parent)},
        )

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next file."""
        row = read_row(record.value)
        document = None if row is None else _document_of(row)
        if row is None or document is None:
            self._builder.reject(record, "a file that is no JSON object")
            yield from self._builder.take_ready()
        elif _is_event_file(row):
            yield from super().read(record._replace(value=document))
        else:
            self._builder.add_state(record._replace(value=document), row.table.rpartition("/")[2].partition(".")[0])
            yield from self._builder.take_ready()


def _is_event_file(row: Row) -> bool:
    return row.table.split("/")[-2:-1] == [EVENTS]


def _document_of(row: Row) -> dict[str, Any] | None:
    content = row.columns.get("content")
    try:
        value = decode(content) if isinstance(content, str) else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _id_of(name: str) -> str:
    """Return the id of the conversation in a folder, which the SDK names without the hyphens."""
    digits = _ID.fullmatch(name)
    return name if digits is None else "-".join(digits.groups())
