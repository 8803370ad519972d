"""The Kimi format: `wire.jsonl` of an agent of Kimi Code. The files of the older kimi-cli are others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import Source, StandardFolders, find_below
from scopes.importers.formats.events import Event
from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.kimi.reader import EVENT, MESSAGE, NAME, Reader
from scopes.importers.formats.session_walk import read_beginning, walk_session
from scopes.importers.formats.stream_documents import first_records


def _find_session(top: str, session: str) -> str | None:
    """Return the file of the main agent of a session in the folder of any project; None if there is none."""
    return find_below(top, f"{session}/agents/main", lambda name: name == "wire.jsonl")


class Kimi:
    """Kimi Code since protocol version 1.4."""

    name = NAME
    file_suffixes = (".jsonl",)
    standard_folders = StandardFolders(AGENTS[NAME], ("sessions",), _find_session)
    sub_agent_fields: tuple[str, ...] = ()

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        return any(mark in head for mark in (b'"protocol_version"', b'"context.')) and any(
            map(_is_record, first_records(head))
        )

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending."""
        yield from walk_session(source, Reader(source.path, first_records(read_beginning(source))))


def _is_record(value: Mapping[str, Any]) -> bool:
    match value.get("type"):
        case "metadata":
            return text_field(value, "protocol_version") is not None and type(value.get("created_at")) is int
        case str(kind) if kind == MESSAGE:
            return bool(object_field(value, "message"))
        case str(kind) if kind == EVENT:
            return bool(object_field(value, "event"))
    return False
