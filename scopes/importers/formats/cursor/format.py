"""Cursor: the rows of its editor and of its command line, its transcripts, and what its hooks were told.

All of them name a conversation by the same id (`conversation_id` of hooks, `composerId` of the editor, `agentId` of the
command line), so a conversation that was recorded by the hooks and is then imported from the store stays one
conversation: the journal of the hooks is an event stream of the session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from scopes.hosts.agents import AGENTS, Agent
from scopes.importers.formats.base import Source, StandardFolders, list_entries
from scopes.importers.formats.collection import SEPARATOR
from scopes.importers.formats.cursor.chat_reader import is_chat_row, walk_chat_rows
from scopes.importers.formats.cursor.editor_reader import is_editor_row, walk_editor_rows
from scopes.importers.formats.cursor.hooks import is_journal, walk_journal
from scopes.importers.formats.cursor.names import CHAT_DATABASE, EDITOR_DATABASE, NAME
from scopes.importers.formats.cursor.transcript import is_transcript, walk_transcript
from scopes.importers.formats.events import Event
from scopes.importers.formats.run_builder import read_beginning

_EDITOR = Agent(  # the directory of the editor, which Electron chooses
    NAME,
    "Cursor",
    None,
    ".config/Cursor/User",
    elsewhere={"darwin": "Library/Application Support/Cursor/User", "win32": "AppData/Roaming/Cursor/User"},
)


def _find_session(top: str, session: str) -> str | None:
    """Return the source of a conversation: a database of its own, or one of many in that of the editor."""
    if os.path.basename(top) == EDITOR_DATABASE:
        return f"{top}{SEPARATOR}{session}" if os.path.isfile(top) else None
    for workspace in list_entries(top):
        database = os.path.join(workspace.path, session, CHAT_DATABASE)
        if os.path.isfile(database):
            return f"{database}{SEPARATOR}{session}"
    return None


class Cursor:
    """The editor Cursor, its command line `cursor-agent`, and its hooks."""

    name = NAME
    file_suffixes = (".jsonl", ".db", ".vscdb")
    standard_folders = StandardFolders(
        AGENTS[NAME],
        ("chats", "projects"),
        _find_session,
        elsewhere=((_EDITOR, os.path.join("globalStorage", EDITOR_DATABASE)),),
    )
    sub_agent_fields: tuple[str, ...] = ("agentId",)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        return is_editor_row(head) or is_chat_row(head) or is_journal(head) or is_transcript(head)

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its messages and states, and the Ending.

        Raises:
            CannotImport: nothing in the source names its conversation.
        """
        head = read_beginning(source)
        if is_editor_row(head):
            yield from walk_editor_rows(source)
        elif is_chat_row(head):
            yield from walk_chat_rows(source)
        elif is_transcript(head):
            yield from walk_transcript(source)
        else:
            yield from walk_journal(source)
