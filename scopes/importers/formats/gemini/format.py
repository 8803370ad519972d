"""The Gemini CLI format: session files of all versions, and what `gemini -p` prints."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import Source, StandardFolders, find_below
from scopes.importers.formats.events import Event
from scopes.importers.formats.gemini.document import is_document, walk_document
from scopes.importers.formats.gemini.project_root import CHATS
from scopes.importers.formats.gemini.session import AGENT_FIELD, SessionReader, is_header
from scopes.importers.formats.gemini.stream import NAME, StreamReader, is_event
from scopes.importers.formats.session_walk import read_beginning, walk_runs
from scopes.importers.formats.stream_documents import first_records, walk_stream

_MARKS = (b'"projectHash"', b'"session_id"', b'"tool_id"')


def _find_session(top: str, session: str) -> str | None:
    """Return the file of a session in the directory of any project; its name has the first digits of the id."""
    ends = (f"-{session[:8]}.jsonl", f"-{session[:8]}.json")
    return find_below(top, CHATS, lambda name: name.startswith("session-") and name.endswith(ends))


class Gemini:
    """Gemini CLI, with sessions of one object (before 0.40) and of JSON lines."""

    name = NAME
    file_suffixes = (".jsonl", ".json")
    standard_folders = StandardFolders(AGENTS[NAME], ("tmp",), _find_session)
    sub_agent_fields: tuple[str, ...] = (AGENT_FIELD,)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        if not any(mark in head for mark in _MARKS):
            return False
        if is_document(head):
            return True
        return any((is_header(value) and "messages" not in value) or is_event(value) for value in first_records(head))

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending."""
        beginning = read_beginning(source)
        if is_document(beginning):
            yield from walk_document(source)
            return
        head = first_records(beginning)
        if any(map(is_header, head)):
            session = SessionReader(head, source.path)
            yield session.session
            with source.open() as stream:
                for record in walk_stream(stream, source.size):
                    session.read(record)
            yield from session.finish()
            return
        yield from walk_runs(source, StreamReader(head))
