"""The format of llm's conversations: rows of `logs.db`, of both of its schemas."""

from __future__ import annotations

import os
from collections.abc import Iterator

from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import Source, StandardFolders
from scopes.importers.formats.collection import SEPARATOR
from scopes.importers.formats.events import Event
from scopes.importers.formats.json_lines import walk_records
from scopes.importers.formats.llm.responses import ResponseReader
from scopes.importers.formats.llm.threads import ThreadReader
from scopes.importers.formats.row_lines import begins_with_row, read_row

NAME = "llm"
_RESPONSES = ("conversations", "responses")
_THREADS = ("threads",)


def _find_session(top: str, session: str) -> str | None:
    """Return the source of a conversation, which is one of many in the database."""
    return f"{top}{SEPARATOR}{session}" if os.path.isfile(top) else None


class Llm:
    """llm since 0.5: the command-line program by Simon Willison."""

    name = NAME
    file_suffixes = (".db", ".jsonl")
    standard_folders = StandardFolders(AGENTS[NAME], ("logs.db",), _find_session)
    sub_agent_fields: tuple[str, ...] = ()

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        return begins_with_row(head, (*_RESPONSES, *_THREADS))

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending."""
        reader: ResponseReader | ThreadReader | None = None
        with source.open() as stream:
            for record in walk_records(stream, source.size):
                row = read_row(record.value)
                if reader is None:
                    is_thread = row is not None and row.table in _THREADS
                    reader = ThreadReader(row) if is_thread else ResponseReader(row)
                    yield reader.session
                yield from reader.read(record, row)
        yield from (reader or ResponseReader(None)).finish()
