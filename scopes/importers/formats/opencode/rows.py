"""Where OpenCode keeps its sessions: a database since 1.2, a folder with a file for each record before.

Both become the same kind of source: the session, its messages each followed by its parts, then what else belongs to the
session. `session_share` is left out: it holds the secret with which a published session is changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from scopes.importers.formats.base import list_entries
from scopes.importers.formats.collection import Conversation
from scopes.importers.formats.database import Database
from scopes.importers.formats.row_lines import encode_file, encode_row
from scopes.regular_file import read_regular

FORMAT = "opencode"
MAX_FILE_BYTES = 64 << 20
_OTHERS = (  # tables with rows of a session, the column with its id, and what they are sorted by
    ("todo", "session_id", ("position",)),
    ("session_context_epoch", "session_id", ("baseline_seq",)),
    ("session_input", "session_id", ("admitted_seq",)),
    ("session_message", "session_id", ("seq",)),
    ("event_sequence", "aggregate_id", ("seq",)),
    ("event", "aggregate_id", ("seq", "id")),
)
_SESSION_FILES = ("todo", "session_diff")  # subfolders with a file for each session


class OpenCodeDatabase:
    """`opencode.db`, since OpenCode 1.2."""

    format = FORMAT
    tables: tuple[Mapping[str, tuple[str, ...]], ...] = (
        MappingProxyType(
            {
                "session": ("id", "directory", "title"),
                "message": ("id", "session_id", "data"),
                "part": ("id", "message_id", "data"),
            }
        ),
    )

    def walk_conversations(self, database: Database) -> Iterator[Conversation]:
        """Yield the sessions in the order of their ids."""
        database.add_index("message", "session_id")
        database.add_index("part", "message_id")
        for session in list(database.walk("session", order=("id",))):
            if isinstance(name := session["id"], str):
                messages: set[str] = set()
                yield Conversation(name, _walk_session(database, session, messages), messages)


def _walk_session(database: Database, session: Mapping[str, object], messages: set[str]) -> Iterator[bytes]:
    yield encode_row("session", session)
    for message in database.walk("message", "session_id", session["id"], order=("id",)):
        messages.add(str(message["id"]))
        yield encode_row("message", message)
        for part in database.walk("part", "message_id", message["id"], order=("id",)):
            yield encode_row("part", part)
    for table, column, order in _OTHERS:
        for row in database.walk(table, column, session["id"], order=order):
            yield encode_row(table, row)


class OpenCodeFolder:
    """The folder `storage`, before OpenCode 1.2."""

    format = FORMAT
    subfolders = frozenset({"session", "message", "part"})
    depth = 3

    def recognizes(self, folder: str) -> bool:
        """Return True if there are all subfolders."""
        return all(os.path.isdir(os.path.join(folder, name)) for name in self.subfolders)

    def explain_incomplete(self, folder: str) -> str | None:
        """Return None: nothing but its subfolders tells such a folder from others."""

    def walk_conversations(self, folder: str) -> Iterator[Conversation]:
        """Yield the sessions in the order of their ids."""
        projects = sorted(list_entries(os.path.join(folder, "session")), key=lambda entry: entry.name)
        files = [os.path.join("session", project.name, name) for project in projects for name in _names(project.path)]
        for path in sorted(files, key=lambda path: (os.path.basename(path), path)):
            messages: set[str] = set()
            yield Conversation(_stem(path), _walk_files(folder, path, messages), messages)


def _walk_files(folder: str, path: str, messages: set[str]) -> Iterator[bytes]:
    yield from _read(folder, path)
    session = _stem(path)
    for name in _names(os.path.join(folder, "message", session)):
        messages.add(_stem(name))
        yield from _read(folder, os.path.join("message", session, name))
        for part in _names(os.path.join(folder, "part", _stem(name))):
            yield from _read(folder, os.path.join("part", _stem(name), part))
    for subfolder in _SESSION_FILES:
        if os.path.isfile(os.path.join(folder, subfolder, f"{session}.json")):
            yield from _read(folder, os.path.join(subfolder, f"{session}.json"))


def _read(folder: str, path: str) -> Iterator[bytes]:
    """Yield the line of a file, unless it is a link, which may lead out of the folder, or was just deleted."""
    whole = os.path.join(folder, path)
    if os.path.islink(whole):
        return
    try:
        content = read_regular(whole, MAX_FILE_BYTES)
    except FileNotFoundError:
        return
    yield encode_file(path.replace(os.sep, "/"), content)


def _names(folder: str) -> list[str]:
    """Return the names of the JSON files in a folder that is no link, sorted."""
    if os.path.islink(folder):
        return []
    return sorted(entry.name for entry in list_entries(folder) if entry.name.endswith(".json"))


def _stem(path: str) -> str:
    return os.path.basename(path).removesuffix(".json")
