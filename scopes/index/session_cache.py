"""What a command has to know of every conversation, tip and stored source, so that it reads each of them once.

A new session is compared with all others: it may begin like one, or be in the store already. `@` is the conversation
with the newest tip, perhaps among those of a project. What that needs of a conversation depends on the commit of its
metadata alone, what it needs of a tip on that commit, and of a source on the commit of its record; the ids of its
messages depend on all its tips, of which they have a hash. So a row has one of these as its key, and the bytes that
were made of it. A row never is outdated. Rows of commits that no ref has any more are deleted when
others are added.

Nothing here raises: if the file is missing, locked, damaged or of another store, the objects are read again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from scopes.ids import Oid
from scopes.index.database import ROW_ERRORS, Layout, open_rows

TABLES: Final = ("conversation", "source", "origin", "tip", "ids")
SESSIONS: Final = Layout(
    "sessions.sqlite",
    version=4,
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
    kept = {} if directory is None else _read(directory, store, rows)
    found = {oid: kept[oid] for oid in wanted if oid in kept}
    added = {oid: compute(oid) for oid in wanted if oid not in kept}
    if added and directory is not None:
        _write(directory, store, rows, added, kept.keys() - wanted.keys())
    return found | added


def _read(directory: str, store: str, rows: str) -> dict[Oid, bytes]:
    """Return all rows."""
    if not os.path.lexists(os.path.join(directory, SESSIONS.file)):
        return {}
    with contextlib.suppress(*ROW_ERRORS), open_rows(directory, SESSIONS, store, _BUSY_SECONDS) as connection:
        found = connection.execute(f"SELECT key, data FROM {rows}")  # noqa: S608 - one of TABLES
        return {Oid(key.hex()): data for key, data in found}
    return {}


def _write(directory: str, store: str, rows: str, added: Mapping[Oid, bytes], gone: Iterable[Oid]) -> None:
    """Add rows and delete others, or do nothing if that is not possible now."""
    new = [(bytes.fromhex(oid), data) for oid, data in added.items()]
    with contextlib.suppress(*ROW_ERRORS), open_rows(directory, SESSIONS, store, _BUSY_SECONDS) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            connection.executemany(
                f"INSERT OR REPLACE INTO {rows} VALUES (?, ?)",  # noqa: S608 - one of TABLES
                new,
            )
            connection.executemany(
                f"DELETE FROM {rows} WHERE key = ?",  # noqa: S608 - one of TABLES
                [(bytes.fromhex(oid),) for oid in gone],
            )
