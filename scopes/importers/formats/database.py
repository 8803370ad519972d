"""Read a SQLite database that another program uses and that may be damaged or hostile.

The database is never written to, checkpointed or locked for longer than a copy takes: all is read from a copy. What is
in it runs no code: only columns of real tables are selected, no view, no virtual table and no generated column, so that
neither triggers nor functions of its schema are called.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any

from scopes.errors import CannotImport
from scopes.importers.formats.base import DATABASE_HEADER, Source
from scopes.importers.formats.records import decode_text
from scopes.regular_file import open_regular

MAX_BYTES = 8 << 30  # of a database with its write-ahead log
MAX_CELL_BYTES = 128 << 20
MIN_FREE_BYTES = 64 << 20
BUSY_SECONDS = 10.0  # to wait for a program that writes
_ATTEMPTS = 20
_PAGES = 4096  # copied at once
_STEPS = 1 << 20
_MIN_STEPS = 1 << 28  # of SQLite's virtual machine, before a small database counts as one that never ends
_STEPS_PER_BYTE = 64
_WRITE_AHEAD = 2  # in the header: the database has a write-ahead log
_PLAIN = frozenset(b"/-._0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")  # in a URI
_BUSY = "another program keeps writing to it"


class Database:
    """The tables of a copy, with their columns. Foreign errors become CannotImport in `open_database`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.tables = _list_tables(connection)

    def has(self, tables: Mapping[str, tuple[str, ...]]) -> bool:
        """Return True if there are these tables with at least these columns."""
        return all(set(columns) <= set(self.tables.get(table, ())) for table, columns in tables.items())

    def add_index(self, table: str, column: str) -> None:
        """Let the rows with one value of a column be found without reading all others."""
        if column in self.tables.get(table, ()):
            self._connection.execute(
                f"CREATE INDEX {_quote(f'scopes {table} {column}')} ON {_quote(table)} ({_quote(column)})"
            )

    def walk(
        self, table: str, column: str | None = None, value: object = None, *, order: tuple[str, ...] = ()
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table, all or those with a value in a column; none if there is no such table or column.

        Columns of `order` that a version of the program does not have are left out.
        """
        names = self.tables.get(table, ())
        if not names or column not in {None, *names}:
            return
        order = tuple(name for name in order if name in names)
        where = "" if column is None else f" WHERE {_quote(column)} IS ?"
        by = f" ORDER BY {', '.join(map(_quote, order))}" if order else ""
        query = f"SELECT {', '.join(map(_quote, names))} FROM {_quote(table)}{where}{by}"  # noqa: S608 - all are quoted
        for row in self._connection.execute(query, () if column is None else (value,)):
            yield dict(zip(names, row, strict=True))

    def walk_texts(self, table: str, column: str, prefix: str) -> Iterator[str]:
        """Yield the texts of a column that begin with a prefix, in their order, without reading the rows."""
        if column not in self.tables.get(table, ()):
            return
        name, after = _quote(column), prefix[:-1] + chr(ord(prefix[-1]) + 1)
        query = f"SELECT {name} FROM {_quote(table)} WHERE {name} >= ? AND {name} < ? ORDER BY {name}"  # noqa: S608
        for (text,) in self._connection.execute(query, (prefix, after)):
            if isinstance(text, str):
                yield text


@contextmanager
def open_database(source: Source) -> Iterator[Database]:
    """Copy the database at a source and open the copy, which is deleted afterwards.

    Raises:
        CannotImport: it is damaged, too large, written to all the time, or makes SQLite work without end.
        OSError: it cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="scopes-") as folder:
        copy = os.path.join(folder, "copy.db")
        try:
            _copy(source, copy)
            with closing(_open_copy(copy)) as connection:
                yield Database(connection)
        except (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError) as error:  # the last of a message about the schema
            raise CannotImport(f"{source.path}: {_reason(error)}", hint=_HINT) from error


_HINT = "close the program that writes it, and check it with: sqlite3 FILE 'PRAGMA integrity_check'"


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "the database cannot be read: its schema is damaged"
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_INTERRUPT":
        return "reading it takes too long; its content is unusual"
    return f"the database cannot be read: {error}"


def _copy(source: Source, copy: str) -> None:
    """Copy a database with its write-ahead log.

    If no program has the log open, the files are copied as they are: SQLite would create files beside them.
    """
    path = source.stored_at
    for attempt in range(_ATTEMPTS):
        before = _sign(path)
        size = sum(each[0] for each in before.values())
        if size > MAX_BYTES:
            raise CannotImport(f"{source.path}: the database is larger than {MAX_BYTES >> 30} GiB")
        _require_space(copy, size)
        if _is_in_use(path):
            _back_up(source, copy)
            return
        for suffix in ("", "-wal"):
            if suffix in before:
                _copy_file(path + suffix, copy + suffix)
            else:
                with suppress(FileNotFoundError):
                    os.unlink(copy + suffix)
        if _sign(path) == before and not _is_in_use(path):
            return
        time.sleep(0.01 * attempt)
    raise CannotImport(f"{source.path}: {_BUSY}", hint="import it again later")


def _sign(path: str) -> dict[str, tuple[int, int, int]]:
    """Return size, time and inode of a database and of its write-ahead log."""
    found = {}
    for suffix in ("", "-wal"):
        try:
            status = os.stat(path + suffix)
        except FileNotFoundError:
            if not suffix:
                raise
            continue
        found[suffix] = (status.st_size, status.st_mtime_ns, status.st_ino)
    return found


def _is_in_use(path: str) -> bool:
    """Return True if a program may write to the database in a way that only SQLite's locks tell."""
    with open_regular(path) as file:
        file.seek(len(DATABASE_HEADER) + 2)
        versions = file.read(2)
    return os.path.exists(f"{path}-shm") or not (versions and max(versions) >= _WRITE_AHEAD)


def _require_space(copy: str, size: int) -> None:
    disk = os.statvfs(os.path.dirname(copy))
    if disk.f_bavail * disk.f_frsize < size + MIN_FREE_BYTES:
        raise CannotImport(
            f"a copy of the database needs {size >> 20} MiB in {tempfile.gettempdir()}",
            hint="free some space, or set TMPDIR",
        )


def _copy_file(path: str, copy: str) -> None:
    with open_regular(path) as file, open(copy, "wb") as target:
        shutil.copyfileobj(file, target, _PAGES << 8)


def _back_up(source: Source, copy: str) -> None:
    """Copy a database with SQLite's own backup, which sees one state of it and makes no writer of a log wait."""
    deadline = time.monotonic() + BUSY_SECONDS

    def check(status: int, _remaining: int, _total: int) -> None:
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() > deadline:
            raise CannotImport(f"{source.path}: {_BUSY}", hint="import it again later")

    name = f"file:{_quote_path(os.path.abspath(source.stored_at))}?mode=ro"
    with (
        closing(sqlite3.connect(name, uri=True, timeout=BUSY_SECONDS)) as original,
        closing(sqlite3.connect(copy)) as target,
    ):
        original.backup(target, pages=-1, progress=check, sleep=0.05)


def _quote_path(path: str) -> str:
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in os.fsencode(path))


def _open_copy(copy: str) -> sqlite3.Connection:
    """Open the copy, so that nothing in it can call a function or take memory or time without end."""
    connection = sqlite3.connect(copy, isolation_level=None)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0)
    for pragma in (
        "trusted_schema=OFF",
        "cell_size_check=ON",
        "foreign_keys=OFF",
        "synchronous=OFF",
        "temp_store=FILE",
    ):
        connection.execute(f"PRAGMA {pragma}")
    connection.text_factory = decode_text
    left = max(_MIN_STEPS, os.path.getsize(copy) * _STEPS_PER_BYTE) // _STEPS

    def interrupt() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    connection.set_progress_handler(interrupt, _STEPS)
    return connection


def _list_tables(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """Return the columns of each real table that are stored in it."""
    found = {}
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name"
    for name, sql in connection.execute(query).fetchall():
        if isinstance(name, str) and isinstance(sql, str) and not sql.upper().startswith("CREATE VIRTUAL"):
            columns = connection.execute(f"PRAGMA table_info({_quote(name)})").fetchall()
            found[name] = tuple(column[1] for column in columns if isinstance(column[1], str))
    return found


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
