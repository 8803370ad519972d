"""The cache of `list`: a row for each conversation, so that a list need not open the store.

All rows are one value of the database, which is faster than a table; a checksum detects damage that SQLite does not. It
says from which refs they were made: if these are the same, the rows are right, and otherwise only the conversations
whose own refs have changed are read again.
"""

from __future__ import annotations

import contextlib
import marshal
import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from scopes.ids import AgentName, BranchName, ConversationId
from scopes.index.database import ROW_ERRORS, Layout, change_rows, open_rows

_BUSY_SECONDS: Final = 0.2  # if another process is writing, it saves the same rows
_MARSHAL_VERSION: Final = 4  # every Python reads it
_ERRORS: Final = (*ROW_ERRORS, EOFError)


class ConversationRow(NamedTuple):
    """One conversation in a list. Times are RFC 3339.

    The fields from `active_branch` on are its details, which need a walk over the history: `messages` is None without.

    opening: the beginning of the first prompt, if there is no title
    moment: the time of the last activity in nanoseconds
    recorded_at: when the newest message was written, if that is a merge of scopes, which has an earlier time
    directory: the working directory in which the conversation began, as it was recorded
    agent: the agent that wrote most of its messages
    model: the model of the newest answer that names one
    ahead: how many messages the default remote lacks; behind: how many only it has; None if it does not have the
        conversation, or there is no such remote
    """

    id: ConversationId
    participants: tuple[AgentName, ...]
    branches: int
    last_activity: str | None
    title: str | None = None
    moment: int = 0
    recorded_at: str | None = None
    active_branch: BranchName | None = None
    opening: str | None = None
    uuid: str | None = None
    created_at: str | None = None
    source: str | None = None
    messages: int | None = None
    directory: str | None = None
    agent: AgentName | None = None
    model: str | None = None
    tags: tuple[str, ...] | None = None
    ahead: int | None = None
    behind: int | None = None

    @property
    def activity(self) -> str | None:
        """The time of the last activity that people see, which decides the order."""
        return self.last_activity if self.recorded_at is None else self.recorded_at

    @property
    def heading(self) -> str | None:
        """The title, or else the beginning of the first prompt."""
        return self.title if self.title is not None else self.opening

    @property
    def heading_source(self) -> str | None:
        """What `heading` is: `title` or `prompt`; None if there is neither."""
        return "title" if self.title is not None else None if self.opening is None else "prompt"


LAYOUT: Final = Layout(
    "conversations.sqlite",
    version=13,
    tables="CREATE TABLE list (state TEXT NOT NULL, checksum INTEGER NOT NULL, rows BLOB NOT NULL) STRICT",
)


class CachedRow(NamedTuple):
    """A row of `list` and a digest of the refs that it was made from."""

    summary: ConversationRow
    state: str


class CachedRows(NamedTuple):
    """The rows of all conversations by id, and a digest of all refs that they were made from; empty if unknown."""

    rows: Mapping[ConversationId, CachedRow]
    state: str


def read_rows(directory: str, store: str) -> CachedRows:
    """Return what was saved; nothing if there is nothing, or it cannot be used."""
    with contextlib.suppress(*_ERRORS), open_rows(directory, LAYOUT, store, _BUSY_SECONDS) as connection:
        found = connection.execute("SELECT state, checksum, rows FROM list").fetchone()
        if found is not None and zlib.crc32(found[2]) == found[1]:
            rows = [CachedRow(ConversationRow._make(row), state) for row, state in marshal.loads(found[2])]  # noqa: S302 - our own file, and its checksum is right
            return CachedRows({row.summary.id: row for row in rows}, found[0])
    return CachedRows({}, "")


def save_rows(directory: str, store: str, rows: Iterable[CachedRow], state: str) -> None:
    """Replace what was saved, if possible; `state` is empty if refs have changed meanwhile."""
    shared: dict[Any, Any] = {}  # equal values are one object, which marshal writes and reads once
    share = shared.setdefault
    data = marshal.dumps([([share(v, v) for v in row.summary], row.state) for row in rows], _MARSHAL_VERSION)
    with contextlib.suppress(*_ERRORS), change_rows(directory, LAYOUT, store, _BUSY_SECONDS) as connection:
        connection.execute("DELETE FROM list")
        connection.execute("INSERT INTO list VALUES (?, ?, ?)", (state, zlib.crc32(data), data))


def list_values(directory: str, column: str) -> list[str]:
    """Return the values of `participants`, `directory`, `model` or `tags` in all rows; none if they cannot be read."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{directory}/{LAYOUT.file}?mode=ro", timeout=0, uri=True)) as db:
            rows = [row for (data,) in db.execute("SELECT rows FROM list") for row, _ in marshal.loads(data)]  # noqa: S302 - our own file
        place = ConversationRow._fields.index(column)
        values = [value for row in rows if (value := row[place])]
        return sorted({name for value in values for name in ((value,) if isinstance(value, str) else value)})
    except (*_ERRORS, AttributeError):
        return []
