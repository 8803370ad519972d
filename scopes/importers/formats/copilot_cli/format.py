"""The Copilot CLI format: `events.jsonl` of a session."""

from __future__ import annotations

import os
from collections.abc import Iterator

from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import Source, StandardFolders
from scopes.importers.formats.copilot_cli.event_file import first_events, walk_event_file
from scopes.importers.formats.copilot_cli.reader import MESSAGES, NAME, Reader
from scopes.importers.formats.events import Event
from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.session_walk import read_beginning, walk_session


def _find_session(top: str, session: str) -> str | None:
    """Return the file of a session; None if there is none. Older versions had no folder for it."""
    names = (os.path.join(top, session, "events.jsonl"), os.path.join(top, f"{session}.jsonl"))
    return next((name for name in names if os.path.isfile(name)), None)


class CopilotCli:
    """Copilot CLI since it keeps the events of a session."""

    name = NAME
    file_suffixes = (".jsonl",)
    standard_folders = StandardFolders(AGENTS[NAME], ("session-state",), _find_session)
    sub_agent_fields: tuple[str, ...] = ()

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        if b'"parentId"' not in head or b'"data"' not in head:
            return False
        return any(
            text_field(value, "type") in MESSAGES or text_field(object_field(value, "data"), "sessionId") is not None
            for value in first_events(head)
        )

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending."""
        yield from walk_session(source, Reader(first_events(read_beginning(source))), walk_event_file)
