"""The OpenHands format: the events of the Software Agent SDK (OpenHands 1.x) and of OpenHands before 1.0.

OpenHands keeps each event in a file of its own; a folder of them is a source (`folders`). Events are also read as JSON
lines, in a row or in an array, such as joined files and the trajectories of versions before 1.0. Times have no zone and
are read as UTC. Token counts are running totals; in the SDK they are in events of the state, which come before the
answer they count.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO
from itertools import islice

from scopes.errors import CannotImport
from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import Source, StandardFolders
from scopes.importers.formats.collection import SEPARATOR
from scopes.importers.formats.events import Event
from scopes.importers.formats.json_lines import walk_records
from scopes.importers.formats.openhands.folder_reader import FolderReader, is_folder_line
from scopes.importers.formats.openhands.reader import NAME, EventReader, is_event
from scopes.importers.formats.session_walk import read_beginning, walk_session
from scopes.importers.formats.stream_documents import first_records, walk_stream


def _find_session(top: str, session: str) -> str | None:
    """Return the source of a conversation, whose folder has its id, in newer versions without the hyphens."""
    for name in (session, session.replace("-", "")):
        folder = os.path.join(top, name)
        if os.path.isdir(folder):
            return f"{folder}{SEPARATOR}{name}"
    return None


class OpenHands:
    """Conversations of OpenHands."""

    name = NAME
    file_suffixes = (".jsonl", ".json")
    standard_folders = StandardFolders(
        AGENTS[NAME], ("conversations", "sessions"), _find_session, "OPENHANDS_CONVERSATIONS_DIR", is_top=True
    )
    sub_agent_fields: tuple[str, ...] = ()

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        if is_folder_line(head):
            return True
        return b'"timestamp"' in head and b'"source"' in head and any(map(is_event, first_records(head)))

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending.

        Raises:
            CannotImport: the source is one of the files of a folder, with one event.
        """
        data = read_beginning(source)
        if is_folder_line(data):
            yield from walk_session(source, FolderReader(data), walk_records)
            return
        head = first_records(data)
        if source.size == len(data) and len(head) == 1 and _is_event_file(data):
            hint = "import the folder of the conversation, which has the folder events"
            raise CannotImport(f"{source.path}: one event of a conversation of OpenHands", hint=hint)
        yield from walk_session(source, EventReader(head))


def _is_event_file(data: bytes) -> bool:
    """Return True if a source is one object without an end of line, as OpenHands writes the file of an event."""
    if not data.startswith(b"{") or data.endswith(b"\n"):
        return False
    records = list(islice(walk_stream(BytesIO(data), len(data)), 2))
    return len(records) == 1 and is_event(records[0].value or {})
