"""Open, create, check and delete a database file of the index; it belongs to one layout and one store.

Each part of the index has its own file, so that no part waits for the writer of another, and damage affects one part.
Files are readable by their owner alone. Everything in them was derived from the store: a file that SQLite finds
damaged, or that is of another store or version, is deleted and built again.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from scopes.result import Note

if TYPE_CHECKING:
    from scopes.store.repository import Prunes


APPLICATION: Final = 0x73636F70  # "scop", identifies our SQLite files
SUFFIXES: Final = ("", "-wal", "-shm", "-journal")
Connection: TypeAlias = sqlite3.Connection
DatabaseError: TypeAlias = sqlite3.DatabaseError
READ_ERRORS: Final = (sqlite3.Error, MemoryError, UnicodeDecodeError)  # a damaged length can exhaust the memory
_DAMAGE: Final = frozenset(
    {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_MISMATCH}
)
_BUSY_SECONDS: Final = 20.0
_UPDATE_CACHE_KIBIBYTES: Final = 65536  # hashes are random, so that a large file is read and written all over with less
_REBUILT: Final = "it was rebuilt; nothing was lost"
_PROPERTIES: Final = "CREATE TABLE property (key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID"


class Layout(NamedTuple):
    """The name of a file, the version of its tables (changed with them), and the statements that create them."""

    file: str
    version: int
    tables: str


class UnusableIndex(Exception):
    """The file must be deleted; `text` tells the user why, None if the user need not know."""

    def __init__(self, text: str | None) -> None:
        super().__init__(text)
        self.text = text


_DIRECTORY: Final = re.compile("[0-9a-f]{16}")  # as `store.projects.index_directory` names it
_OWN_FILE: Final = re.compile(r"(?:index|conversations|sessions|usage|code-lines)\.sqlite(?:-\w+)?")

ROW_ERRORS: Final = (*READ_ERRORS, OSError, UnusableIndex, TypeError, ValueError, EOFError)  # of files with rows


def prepare(directory: str) -> None:
    """Create the directory of an index, readable by its owner alone, if it does not exist."""
    os.makedirs(os.path.dirname(directory), mode=0o700, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(directory, 0o700)


def connect(directory: str, layout: Layout, timeout: float) -> sqlite3.Connection:
    """Open a file of the index, or create it readable by its owner alone; `timeout` for locks is in seconds.

    Raises:
        OSError, sqlite3.Error: the file cannot be opened.
    """
    prepare(directory)
    path = os.path.join(directory, layout.file)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    return sqlite3.connect(path, timeout=timeout, isolation_level=None)


def create_tables(connection: sqlite3.Connection, layout: Layout, store: str) -> None:
    """Create the tables in the current transaction; `store` is the result of `identity_of`."""
    for statement in (_PROPERTIES, *layout.tables.split(";")):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {layout.version}")
    connection.execute("INSERT INTO property VALUES ('store', ?)", (store,))


@contextmanager
def open_rows(
    directory: str, layout: Layout, store: str, timeout: float, *, create: bool = False
) -> Iterator[sqlite3.Connection]:
    """Open a file of rows that can be lost one by one, which `create` makes if there is none.

    One that is damaged, or of another layout or store, is deleted; one that cannot be used now stays.

    Raises:
        ROW_ERRORS: it cannot be used now, or what is in it is no row.
    """
    if not create:
        os.lstat(os.path.join(directory, layout.file))
    try:
        with contextlib.closing(connect(directory, layout, timeout)) as connection:
            identity = identity_of(store)
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA journal_mode = MEMORY")
            if is_empty(connection):
                connection.execute("BEGIN IMMEDIATE")
                with connection:  # commits, or rolls back
                    if is_empty(connection):  # no other process has done so in the meantime
                        create_tables(connection, layout, identity)
            if not is_ours(connection, layout, identity):
                raise UnusableIndex(None)
            yield connection
    except ROW_ERRORS as error:
        if not isinstance(error, OSError) and (isinstance(error, UnusableIndex) or is_damage(error)):
            remove(directory, layout)
        raise


@contextmanager
def change_rows(directory: str, layout: Layout, store: str, timeout: float) -> Iterator[sqlite3.Connection]:
    """Open a file of rows for changes in one transaction; raise as `open_rows` does, and change nothing then."""
    with open_rows(directory, layout, store, timeout, create=True) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with connection:  # commits, or rolls back
            yield connection


State: TypeAlias = Literal["fresh", "updated", "built", "rebuilt", "in-memory"]


class Opened(NamedTuple):
    """An open file that is up to date; `read` is what its update returned, and `notes` are for the user."""

    connection: sqlite3.Connection
    state: State
    read: int
    notes: tuple[Note, ...]


def open_updated(
    directory: str,
    layout: Layout,
    store: str,
    is_current: Callable[[sqlite3.Connection], bool],
    update: Callable[[sqlite3.Connection], int],
    *,
    what: str,
    is_damaged: bool = False,
) -> Opened:
    """Open a file, or create it, and call `update` in a transaction unless it `is_current`.

    A file that is damaged, or of another store or version, is deleted and built again. One that cannot be written, or
    that another process writes for too long, is built in memory instead. The caller closes the connection.

    what: names the file in notes.
    is_damaged: it has impossible content.

    Raises:
        As `update` does; the file stays as it was.
    """
    notes: list[Note] = []
    if is_damaged:
        notes.append(Note(f"{what} was damaged", _REBUILT))
        remove(directory, layout)
    is_rebuilt = is_damaged
    for is_last in (False, True):
        try:
            connection, state, read = _open_updated(directory, layout, store, is_current, update)
        except UnusableIndex as reason:
            if reason.text is not None:
                notes.append(Note(f"{what} {reason.text}", _REBUILT))
            remove(directory, layout)
            is_rebuilt = True
        except (sqlite3.Error, OSError) as error:
            if not is_last and getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_IOERR:
                continue  # another process has deleted the file meanwhile
            notes.append(Note(f"{what} cannot be kept: {error}", f"it would be in {directory}"))
            break
        else:
            return Opened(connection, "rebuilt" if is_rebuilt else state, read, tuple(notes))
    with contextlib.ExitStack() as on_error:
        connection = on_error.enter_context(contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)))
        create_tables(connection, layout, store)
        read = update(connection)
        on_error.pop_all()
    return Opened(connection, "in-memory", read, tuple(notes))


def _open_updated(
    directory: str,
    layout: Layout,
    store: str,
    is_current: Callable[[sqlite3.Connection], bool],
    update: Callable[[sqlite3.Connection], int],
) -> tuple[sqlite3.Connection, State, int]:
    """Open or create the file and update it.

    Raises:
        UnusableIndex: it must be deleted.
        sqlite3.Error, OSError: it cannot be opened or written now.
    """
    with contextlib.ExitStack() as on_error, _translate_damage():
        connection = on_error.enter_context(contextlib.closing(connect(directory, layout, _BUSY_SECONDS)))
        identity = identity_of(store)
        state: State = "fresh"
        read = 0
        if is_empty(connection):
            with contextlib.suppress(sqlite3.OperationalError):  # another process creates it at this moment
                connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        if is_empty(connection) or not is_ours(connection, layout, identity) or not is_current(connection):
            connection.execute(f"PRAGMA cache_size = -{_UPDATE_CACHE_KIBIBYTES}")
            connection.execute("BEGIN IMMEDIATE")
            with connection:  # commits, or rolls back
                state = "built" if is_empty(connection) else "updated"
                if state == "built":
                    create_tables(connection, layout, identity)
                elif not is_ours(connection, layout, identity):
                    raise UnusableIndex("belonged to another store or another version")
                read = update(connection)
        on_error.pop_all()
    return connection, state, read


@contextmanager
def without_purged(directory: str, store: str) -> Iterator[Prunes]:
    """Run a block that reads a store and writes into its index; delete the index if objects were deleted meanwhile.

    A purge deletes objects first and then the index. So what is written before that goes with it, and what is written
    afterwards is deleted here. An open file stays readable. Yields what has counted the deletions since the beginning.
    """
    from scopes.store.repository import Prunes  # imports pygit2, which most readers of an index do not need

    prunes = Prunes(store)
    try:
        yield prunes
    finally:
        if prunes.have_run():
            delete_files(directory)


def is_ours(connection: sqlite3.Connection, layout: Layout, store: str) -> bool:
    """Return True if a database has this layout and version and belongs to this store."""
    if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
        return False
    if connection.execute("PRAGMA user_version").fetchone() != (layout.version,):
        return False
    return read_property(connection, "store") == store


def is_empty(connection: sqlite3.Connection) -> bool:
    """Return True if a database has no tables yet."""
    return connection.execute("SELECT 1 FROM sqlite_schema").fetchone() is None


def read_property(connection: sqlite3.Connection, key: str) -> str | None:
    """Return a property from the table `property`; None if it is not set."""
    found = connection.execute("SELECT value FROM property WHERE key = ?", (key,)).fetchone()
    return None if found is None or found[0] is None else str(found[0])


def identity_of(store: str) -> str:
    """Return a text that identifies a store: it differs for another store at the same path."""
    return f"{os.path.realpath(store)} {os.stat(store).st_ino}"


def list_abandoned(cache_directory: str) -> list[str]:
    """Return the index directories whose store is not at its path any more: it was moved, deleted or replaced.

    So are those of which no file says what store it is of. A directory without a file of the index is not one of ours.
    """
    try:
        entries = [each for each in os.scandir(cache_directory) if each.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    found = [each.path for each in entries if _DIRECTORY.fullmatch(each.name) and _has_own_file(each.path)]
    return sorted(each for each in found if not any(map(_is_of_store, _walk_identities(each))))


def _has_own_file(directory: str) -> bool:
    try:
        return any(map(_OWN_FILE.fullmatch, os.listdir(directory)))
    except OSError:
        return False


def _walk_identities(directory: str) -> Iterator[str]:
    """Yield what files of an index directory say of their store; nothing of those that cannot be read."""
    for path in sorted(Path(directory).absolute().glob("*.sqlite")):
        uri = f"{path.as_uri()}?mode=ro"
        with (
            contextlib.suppress(*READ_ERRORS, OSError),
            contextlib.closing(sqlite3.connect(uri, timeout=0, uri=True)) as connection,
        ):
            yield read_property(connection, "store") or ""


def _is_of_store(identity: str) -> bool:
    """Return True if an identity is that of the store at its path."""
    path = identity.rpartition(" ")[0]
    try:
        return identity == identity_of(path)
    except (OSError, ValueError):
        return False


def remove(directory: str, layout: Layout) -> None:
    """Delete a file of the index and its journal files."""
    for suffix in SUFFIXES:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(directory, layout.file + suffix))


def delete_files(directory: str) -> list[str]:
    """Delete all files of an index directory, but no directories; return an error text for each that stays."""
    errors: list[str] = []
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
            errors.append(str(error))
    return errors


@contextmanager
def _translate_damage() -> Iterator[None]:
    """Translate errors caused by a damaged file into UnusableIndex; other errors, such as locks, pass."""
    try:
        yield
    except (*READ_ERRORS, TypeError, ValueError) as error:  # a damaged value can have any type
        if is_damage(error):
            raise UnusableIndex("was damaged") from error
        raise


def is_damage(error: Exception) -> bool:
    """Return True if an error means that a file is damaged, False if it cannot be accessed now."""
    code = getattr(error, "sqlite_errorcode", None)  # invalid UTF-8 and exhausted memory have none
    return code is None or code & 0xFF in _DAMAGE
