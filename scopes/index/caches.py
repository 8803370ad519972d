"""What was derived from a store and is kept, so that a command need not read everything again.

list        a row for each conversation, so that `list` need not open the store; all rows are one value, which is
            faster than a table. It says from which refs they were made: if these are the same, the rows are right,
            and otherwise only the conversations whose own refs have changed are read again.
sessions    what a command has to know of every conversation, tip and stored source: a new session is compared with all
            others; `@` may be the latest one of those of a project. What that needs depends on one commit alone,
            that of the metadata, or the record of a source; the ids of messages depend on all tips of a conversation,
            of which they have a hash. So a row has one of these as its key, and the bytes that were made of it: it
            never is outdated. Rows of commits that no ref has any more are deleted when others are added.
commits     parsed commits of long histories

Functions that read or write rows do not raise: if the file is missing, locked, damaged or of another store, the objects
are read again.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from scopes.ids import AgentName, BranchName, ConversationId, Oid
from scopes.index.sqlite_files import (
    ROW_ERRORS,
    Layout,
    change_rows,
    open_rows,
)

if TYPE_CHECKING:
    from scopes.store.objects import Commit


_LIST_BUSY: Final = 0.2  # if another process is writing, it saves the same rows
_MARSHAL_VERSION: Final = 4  # every Python reads it


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


CONVERSATIONS: Final = Layout(
    "conversations.sqlite",
    version=15,
    tables="CREATE TABLE list (state TEXT NOT NULL, rows BLOB NOT NULL) STRICT",
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
    with contextlib.suppress(*ROW_ERRORS), open_rows(directory, CONVERSATIONS, store, _LIST_BUSY) as connection:
        found = connection.execute("SELECT state, rows FROM list").fetchone()
        if found is not None:
            rows = [CachedRow(ConversationRow._make(row), state) for row, state in marshal.loads(found[1])]  # noqa: S302 - our own file
            return CachedRows({row.summary.id: row for row in rows}, found[0])
    return CachedRows({}, "")


def save_rows(directory: str, store: str, rows: Iterable[CachedRow], state: str) -> None:
    """Replace what was saved, if possible; `state` is empty if refs have changed meanwhile."""
    shared: dict[Any, Any] = {}  # equal values are one object, which marshal writes and reads once
    share = shared.setdefault
    data = marshal.dumps([([share(v, v) for v in row.summary], row.state) for row in rows], _MARSHAL_VERSION)
    with (
        contextlib.suppress(*ROW_ERRORS),
        change_rows(directory, CONVERSATIONS, store, _LIST_BUSY) as connection,
    ):
        connection.execute("DELETE FROM list")
        connection.execute("INSERT INTO list VALUES (?, ?)", (state, data))


def list_values(directory: str, column: str) -> list[str]:
    """Return the values of `participants`, `directory`, `model` or `tags` in all rows; none if they cannot be read."""
    try:
        with contextlib.closing(
            sqlite3.connect(f"file:{directory}/{CONVERSATIONS.file}?mode=ro", timeout=0, uri=True)
        ) as db:
            rows = [row for (data,) in db.execute("SELECT rows FROM list") for row, _ in marshal.loads(data)]  # noqa: S302 - our own file
        place = ConversationRow._fields.index(column)
        values = [value for row in rows if (value := row[place])]
        return sorted({name for value in values for name in ((value,) if isinstance(value, str) else value)})
    except (*ROW_ERRORS, AttributeError):
        return []


TABLES: Final = ("conversation", "source", "origin", "ids", "work_items")
SESSIONS: Final = Layout(
    "sessions.sqlite",
    version=6,
    tables=";".join(f"CREATE TABLE {name} (key BLOB PRIMARY KEY, data BLOB NOT NULL) STRICT" for name in TABLES),
)
_BUSY_SECONDS: Final = 0.05  # without the lock nothing is kept, and the next import tries again
Compute: TypeAlias = Callable[[Oid], bytes]


def find_or_compute(
    directory: str | None, store: str, rows: str, oids: Iterable[Oid], compute: Compute
) -> dict[Oid, bytes]:
    """Return the bytes of each object; those that are not kept in the index in `directory` are computed, and kept.

    rows: the table, one of TABLES

    Raises:
        As `compute`.
    """
    wanted = dict.fromkeys(oids)
    kept: dict[Oid, bytes] = {}
    if directory is not None:
        with contextlib.suppress(*ROW_ERRORS), open_rows(directory, SESSIONS, store, _BUSY_SECONDS) as connection:
            found = connection.execute(f"SELECT key, data FROM {rows}")  # noqa: S608 - one of TABLES
            kept = {Oid(key.hex()): data for key, data in found}
    added = {oid: compute(oid) for oid in wanted if oid not in kept}
    if added and directory is not None:
        new = [(bytes.fromhex(oid), data) for oid, data in added.items()]
        gone = [(bytes.fromhex(oid),) for oid in kept.keys() - wanted.keys()]
        with contextlib.suppress(*ROW_ERRORS), change_rows(directory, SESSIONS, store, _BUSY_SECONDS) as connection:
            connection.executemany(f"INSERT OR REPLACE INTO {rows} VALUES (?, ?)", new)  # noqa: S608 - one of TABLES
            connection.executemany(f"DELETE FROM {rows} WHERE key = ?", gone)  # noqa: S608 - one of TABLES
    return {oid: kept[oid] for oid in wanted if oid in kept} | added


COMMITS: Final = Layout(
    "commits.sqlite", version=6, tables="CREATE TABLE chunk (key BLOB PRIMARY KEY, commits BLOB NOT NULL) STRICT"
)
_MAX_COMMITS_BYTES: Final = 128 << 20  # about half a million commits


class CommitCache:
    """Parsed commits of one store, in chunks that a walk reads one after the other; see `store.graph`.

    Read one by one, the commits of a session of 4,000 messages take twice as long.
    """

    def __init__(self, directory: str, store: str) -> None:
        self._place = directory, COMMITS, store, _BUSY_SECONDS
        self._keys: set[Oid] = set()
        with contextlib.suppress(*ROW_ERRORS), open_rows(*self._place) as connection:
            self._keys = {Oid(key.hex()) for (key,) in connection.execute("SELECT key FROM chunk")}

    def __contains__(self, key: object) -> bool:
        """Return True if there is a chunk with this key."""
        return key in self._keys

    def find(self, key: Oid) -> Sequence[Commit]:
        """Return the commits of a chunk, none if it is not there or damaged."""
        from scopes.store.objects import Commit, Identity

        with contextlib.suppress(*ROW_ERRORS), open_rows(*self._place) as connection:
            for (data,) in connection.execute("SELECT commits FROM chunk WHERE key = ?", (bytes.fromhex(key),)):
                rows = marshal.loads(data)  # noqa: S302 - our own file
                return [Commit._make((*row[:3], Identity(*row[3]), *row[4:])) for row in rows]
        return ()

    def add(self, commits: Sequence[Commit]) -> None:
        """Keep a chunk; its first commit is the key. A file that has become too large is emptied first."""
        others = (each.other_trailers and dict(each.other_trailers) for each in commits)
        rows = [(*each[:3], tuple(each.author), *each[4:9], other) for each, other in zip(commits, others, strict=True)]
        row = bytes.fromhex(commits[0].oid), marshal.dumps(rows, _MARSHAL_VERSION)
        with contextlib.suppress(*ROW_ERRORS), change_rows(*self._place) as connection:
            if os.path.getsize(os.path.join(self._place[0], COMMITS.file)) > _MAX_COMMITS_BYTES:
                connection.execute("DELETE FROM chunk")
            connection.execute("INSERT OR REPLACE INTO chunk VALUES (?, ?)", row)
            self._keys.add(commits[0].oid)
