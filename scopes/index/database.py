"""A file of the index: an SQLite database of its own layout and store, derived, disposable and for its owner alone.

Each part of the index has its own file, so that none waits for another's writer and damage stays where it is.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

APPLICATION: Final = 0x73636F70  # "scop": told apart from any other SQLite file
MISREAD: Final = (sqlite3.Error, MemoryError, UnicodeDecodeError)  # a damaged length asks for more memory than there is
_DAMAGE: Final = frozenset(
    {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_MISMATCH}
)
_STANDING: Final = "CREATE TABLE standing (key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID"


class Layout(NamedTuple):
    """What a file holds: its name, the statements that make its tables, and the version, which every change moves."""

    file: str
    version: int
    tables: str


class UnusableIndex(Exception):
    """The file has to go; `text` says why, for a person, where that is worth a word."""

    def __init__(self, text: str | None) -> None:
        super().__init__(text)
        self.text = text


def index_directory(cache_home: str, store: str) -> str:
    """Name the directory of a store's index."""
    name = hashlib.sha256(os.path.realpath(store).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return os.path.join(cache_home, "scopes", name)


def connect(directory: str, layout: Layout, timeout: float) -> sqlite3.Connection:
    """Open a file of the index, made for its owner alone where it is missing; `timeout` in seconds is for locks.

    Raises:
        Unfit: it is another user's.
        OSError, sqlite3.Error: it cannot be opened.
    """
    os.makedirs(os.path.dirname(directory), mode=0o700, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(directory, 0o700)
    path = os.path.join(directory, layout.file)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    if os.stat(path).st_uid != os.geteuid():
        raise UnusableIndex("belonged to another user")
    return sqlite3.connect(path, timeout=timeout, isolation_level=None)


def create_tables(connection: sqlite3.Connection, layout: Layout, store: str) -> None:
    """Make the tables for the store that `store` tells from others, inside the transaction at hand."""
    for statement in (_STANDING, *layout.tables.split(";")):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {layout.version}")
    connection.execute("INSERT INTO standing VALUES ('store', ?)", (store,))


def is_ours(connection: sqlite3.Connection, layout: Layout, store: str) -> bool:
    """Tell whether a database has this layout, in this version, and is of this very store."""
    if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
        return False
    if connection.execute("PRAGMA user_version").fetchone() != (layout.version,):
        return False
    return read_property(connection, "store") == store


def is_empty(connection: sqlite3.Connection) -> bool:
    """Tell whether a database has no tables yet."""
    return connection.execute("SELECT 1 FROM sqlite_schema").fetchone() is None


def read_property(connection: sqlite3.Connection, key: str) -> str | None:
    """Return what a file says of itself under a key."""
    found = connection.execute("SELECT value FROM standing WHERE key = ?", (key,)).fetchone()
    return None if found is None or found[0] is None else str(found[0])


def identity_of(store: str) -> str:
    """Tell a store from another one that is, or was, at the same path."""
    return f"{os.path.realpath(store)} {os.stat(store).st_ino}"


def remove(directory: str, layout: Layout) -> None:
    """Remove a file of the index with what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(directory, layout.file + suffix))


def forget(directory: str) -> list[str]:
    """Remove all files of a directory in which everything was derived; return what cannot be removed, and why."""
    kept: list[str] = []
    try:
        entries = [entry.path for entry in os.scandir(directory) if not entry.is_dir(follow_symlinks=False)]
    except OSError as error:
        return [] if isinstance(error, FileNotFoundError | NotADirectoryError) else [str(error)]
    for path in entries:
        try:
            os.unlink(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            kept.append(str(error))
    return kept


@contextmanager
def judging() -> Iterator[None]:
    """Turn an error that tells of nonsense in the file into Unfit; what it cannot be had for at present passes."""
    try:
        yield
    except (*MISREAD, TypeError, ValueError) as error:  # a damaged value is of any kind
        if is_damage(error):
            raise UnusableIndex("was damaged") from error
        raise


def is_damage(error: Exception) -> bool:
    """Tell whether an error says that a file holds nonsense, rather than that it cannot be had at present."""
    code = getattr(error, "sqlite_errorcode", None)  # neither a text that is no UTF-8 nor an absurd length has one
    return code is None or code & 0xFF in _DAMAGE
