"""Build the next version of the search index in a file of its own, and put it in place when it is complete.

An import fills it while it runs. Searches use the old index meanwhile, and wait for nothing. An unfinished file is
never used: the next one deletes it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from scopes.ids import MessageId, Oid
from scopes.index.checksums import SUFFIX, IndexLocked, hold_lock, logged_blocks, record, verify
from scopes.index.database import (
    SUFFIXES,
    connect,
    create_tables,
    has_regular_files,
    identity_of,
    is_ours,
    prepare,
    read_property,
    remove,
    translate_damage,
)
from scopes.index.schema import LAYOUT
from scopes.index.sync import describe_first, digest_of, lacks_more_than, sync_index
from scopes.index.writer import Describe, IndexDocument, Writer
from scopes.regular_file import open_descriptor
from scopes.store.refs import HEADS
from scopes.store.repository import Repository

STAGED = LAYOUT._replace(file="staged.sqlite")
_LOCK_SECONDS = 2.0
_CACHE_KIBIBYTES = 8192
_MERGE_LATER = "INSERT INTO full_text (full_text, rank) VALUES ('automerge', {})"
_MERGED_SEGMENTS = 4  # SQLite's default; merging them during an import costs a tenth of its time
_MAX_LACKING = 2000  # commits; an index that lacks more is left to the next search


class NotStaged(Exception):
    """The index is left as it is: it is in use, damaged, or lacks so much that the next search must update it."""


class StagedIndex:
    """The next version of an index, in one transaction; it begins with the content of the old one."""

    def __init__(self, connection: sqlite3.Connection, directory: str, old: int | None, describe: Describe) -> None:
        self._connection = connection
        self._directory = directory
        self._old = old  # inode
        self._describe = describe
        self._writer = Writer(connection, describe, is_empty=old is None)
        self._repeated: set[MessageId] = set()
        self._branches: str | None = None  # a digest of those that it is complete for

    def add(self, oid: Oid, parents: Iterable[Oid], document: IndexDocument | None) -> None:
        """Add a commit, unless it is known, or one of its parents is not: `publish` reads those from the store."""
        if oid in self._writer or not all(parent in self._writer for parent in parents):
            return
        if document is not None and self._writer.message_number(document.id) is not None:
            self._repeated.add(document.id)  # their order depends on the processes of the import
        self._writer.add_document(oid, parents, document)

    def flush(self) -> None:
        """Insert the rows that wait for others, so that `complete` need not."""
        self._writer.flush()

    def complete(self, repository: Repository, branches: Mapping[str, str]) -> None:
        """Update the index for these branch refs, which the store has or is about to have; add no commits after that.

        Raises:
            StaleEntryUnreadable: what must be deleted from the index cannot be read any more.
            sqlite3.Error: it cannot be written.
        """
        self._writer.flush()
        sync_index(self._connection, repository, branches, self._describe, find_unreached=True)
        describe_first(self._connection, repository, branches, self._describe, sorted(self._repeated))
        self._repeated.clear()  # a second time, their first commit need not be the one that describes them
        self._branches = digest_of(branches)

    def publish(self, repository: Repository) -> None:
        """Update the index for all branches, and put it in place of the old one.

        Raises:
            NotStaged: the old one was deleted or replaced meanwhile, or it is in use.
            StaleEntryUnreadable: what must be deleted from the index cannot be read any more.
            sqlite3.Error, OSError: it cannot be written.
        """
        refs = repository.list_refs(HEADS)
        if digest_of(refs) != self._branches:
            self.complete(repository, refs)
        if self._old is None:
            self._connection.execute(_MERGE_LATER.format(_MERGED_SEGMENTS))
        self._connection.execute("COMMIT")
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.close()
        staged, path = (os.path.join(self._directory, layout.file) for layout in (STAGED, LAYOUT))
        _sync_file(staged)
        try:
            with hold_lock(path, _LOCK_SECONDS, exclusive=True):
                if _find_inode(path) != self._old:
                    raise NotStaged
                record(staged, None, ())
                remove(self._directory, LAYOUT)
                if any(os.path.lexists(path + suffix) for suffix in SUFFIXES):
                    raise NotStaged
                os.replace(staged + SUFFIX, path + SUFFIX)  # first: an index without checksums counts as damaged
                os.replace(staged, path)
                verify(path)  # saves the new change time
        except IndexLocked as error:
            raise NotStaged from error

    def begin(self, repository: Repository) -> None:
        """Create the tables, or check those of the old index and add what is lacking.

        Raises:
            NotStaged: it belongs to another store or version, or lacks too much.
            sqlite3.Error, OSError: it cannot be written.
        """
        self._connection.execute("PRAGMA journal_mode = OFF")  # an unfinished file is never used
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute(f"PRAGMA cache_size = -{_CACHE_KIBIBYTES}")
        self._connection.execute("BEGIN IMMEDIATE")
        identity = identity_of(repository.path)
        if self._old is None:
            create_tables(self._connection, LAYOUT, identity)
            self._connection.execute(_MERGE_LATER.format(0))
        elif not is_ours(self._connection, LAYOUT, identity):
            raise NotStaged
        refs = repository.list_refs(HEADS)
        if (read_property(self._connection, "refs") or digest_of({})) == digest_of(refs):
            return
        if lacks_more_than(_MAX_LACKING, self._connection, repository, refs, self._describe):
            raise NotStaged
        self.complete(repository, refs)
        self._writer = Writer(self._connection, self._describe)  # it is not empty any more


@contextmanager
def staged_index(directory: str, repository: Repository, describe: Describe) -> Iterator[StagedIndex]:
    """Begin the next version of the index in a directory; it is deleted at the end of the block unless published.

    Raises:
        NotStaged: the next search must update the index; for example, another process holds the staged file.
        UnusableIndex: the file is damaged or belongs to another user.
        sqlite3.Error, OSError: it cannot be written.
    """
    prepare(directory)
    path = os.path.join(directory, STAGED.file)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(hold_lock(path, 0, exclusive=True))
        except IndexLocked as error:
            raise NotStaged from error
        remove(directory, STAGED)
        stack.callback(remove, directory, STAGED)
        old = _copy_old(directory, path)
        connection = stack.enter_context(contextlib.closing(connect(directory, STAGED, _LOCK_SECONDS)))
        staged = StagedIndex(connection, directory, old, describe)
        with translate_damage():
            staged.begin(repository)
        yield staged


def _copy_old(directory: str, target: str) -> int | None:
    """Copy the index to a new file, and return its inode; None if there is no index."""
    path = os.path.join(directory, LAYOUT.file)
    try:
        with hold_lock(path, _LOCK_SECONDS, exclusive=False):
            if _find_inode(path) is None:
                return None
            if not has_regular_files(path) or logged_blocks(path) or verify(path) is None:
                raise NotStaged
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            with open(open_descriptor(path), "rb") as old, open(os.open(target, flags, 0o600), "wb") as new:
                shutil.copyfileobj(old, new, 1 << 20)
                return os.fstat(old.fileno()).st_ino
    except IndexLocked as error:
        raise NotStaged from error


def _find_inode(path: str) -> int | None:
    try:
        return os.lstat(path).st_ino
    except FileNotFoundError:
        return None


def _sync_file(path: str) -> None:
    descriptor = open_descriptor(path)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
