"""The cache of parsed commits: chunks of long histories, which walks keep and read again (`store/commit_reader`).

Beside them are digests: what a merge computed from the messages of a chunk (`merge/`), and the names of the blobs of
these messages (`store/chunk_blobs`). Another table has the work items of the history of each tip that a search for a
work item came to: when a message for each of them was last written. All are rows with a key, their bytes and a checksum
of both. Nothing here raises: if the file is missing, locked, damaged, of another store, layout, Python or version of
scopes, nothing is found, and the next row that is added replaces the file. Commits never change, so that a row is never
outdated; `gc --expire` deletes the file with the rest of the index.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import blake2b
from typing import Final

import scopes
from scopes.ids import Oid
from scopes.index.database import (
    ROW_ERRORS,
    Layout,
    UnusableIndex,
    checksum_of,
    connect,
    identity_of,
    prepare_rows,
    remove_unusable,
)
from scopes.store.objects import Commit, Identity

LAYOUT: Final = Layout(
    "commits.sqlite",
    version=4,
    tables="""
        CREATE TABLE chunk (key BLOB PRIMARY KEY, checksum INTEGER NOT NULL, commits BLOB NOT NULL) STRICT;
        CREATE TABLE digest (key BLOB PRIMARY KEY, checksum INTEGER NOT NULL, data BLOB NOT NULL) STRICT;
        CREATE TABLE work_items (tip BLOB PRIMARY KEY, checksum INTEGER NOT NULL, items BLOB NOT NULL) STRICT
    """,
)
MAX_BYTES: Final = 128 << 20  # about half a million commits
_FIND_DIGEST: Final = "SELECT checksum, data FROM digest WHERE key = ?"
_BUSY_SECONDS: Final = 0.05  # without the lock a chunk is not kept, and the next walk tries again
_MARSHAL: Final = f"{sys.implementation.cache_tag}-{marshal.version}"  # the bytes of marshal belong to one Python
_FAILURES: Final = (*ROW_ERRORS, EOFError)


class CommitCache:
    """The chunks of one store, for one walk; the file is closed with the object."""

    def __init__(self, directory: str, store: str) -> None:
        self._directory = directory
        self._store = store
        self._connection: sqlite3.Connection | None = None
        self._keys: set[Oid] = set()
        self._digests: set[bytes] = set()
        self._tips: set[bytes] | None = None  # those with work items, once they were read
        if os.path.lexists(os.path.join(directory, LAYOUT.file)):
            self._open()

    def __del__(self) -> None:
        """Close the file."""
        self._close()

    def __contains__(self, key: object) -> bool:
        """Return True if there is a chunk with this key."""
        return key in self._keys

    def find(self, key: Oid) -> Sequence[Commit]:
        """Return the commits of a chunk, none if it is not there or damaged."""
        if self._connection is None:
            return ()
        try:
            found = self._connection.execute(
                "SELECT checksum, commits FROM chunk WHERE key = ?", (bytes.fromhex(key),)
            ).fetchone()
            return () if found is None else _unpack(key, *found)
        except _FAILURES as error:
            self._drop(error)
            return ()

    def add(self, commits: Sequence[Commit]) -> None:
        """Keep a chunk; its first commit is the key."""
        if self._connection is None:
            self._open(create=True)
        if self._connection is None:
            return
        key = commits[0].oid
        try:
            self._connection.execute("INSERT OR REPLACE INTO chunk VALUES (?, ?, ?)", _pack(key, commits))
            self._keys.add(key)
        except _FAILURES as error:
            self._drop(error)

    def has_digest(self, key: bytes) -> bool:
        """Return True if there is a digest with this key."""
        return key in self._digests

    def find_digest(self, key: bytes) -> bytes | None:
        """Return a digest, None if it is not there or damaged."""
        if self._connection is None or key not in self._digests:
            return None
        try:
            found = self._connection.execute(_FIND_DIGEST, (key,)).fetchone()
            return None if found is None else _checked(key, *found)
        except _FAILURES as error:
            self._drop(error)
            return None

    def add_digests(self, digests: Mapping[bytes, bytes]) -> None:
        """Keep digests by key."""
        if self._connection is None and digests:
            self._open(create=True)
        if self._connection is None or not digests:
            return
        try:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                rows = [(key, checksum_of(key, data), data) for key, data in digests.items()]
                self._connection.executemany("INSERT OR REPLACE INTO digest VALUES (?, ?, ?)", rows)
            self._digests.update(digests)
        except _FAILURES as error:
            self._drop(error)

    def knows_work_items(self, tip: Oid) -> bool:
        """Return True if the work items of this history are kept, if the file is not damaged."""
        if self._tips is None:
            self._tips = set()
            if self._connection is not None:
                try:
                    self._tips.update(tip for (tip,) in self._connection.execute("SELECT tip FROM work_items"))
                except _FAILURES as error:
                    self._drop(error)
        return bytes.fromhex(tip) in self._tips

    def find_work_items(self, tip: Oid) -> Mapping[str, int] | None:
        """Return when each work item of the history of a tip was last named; None if that is not kept or damaged."""
        if self._connection is None:
            return None
        name = bytes.fromhex(tip)
        try:
            found = self._connection.execute("SELECT checksum, items FROM work_items WHERE tip = ?", (name,)).fetchone()
            if found is None:
                return None
            if checksum_of(name, found[1]) != found[0]:
                raise UnusableIndex("was damaged")
            items: dict[str, int] = marshal.loads(found[1])  # noqa: S302 - our own file
        except _FAILURES as error:
            self._drop(error)
            return None
        return items

    def add_work_items(self, items: Mapping[Oid, Mapping[str, int]]) -> None:
        """Keep the work items of the histories of tips."""
        if self._connection is None:
            self._open(create=True)
        if self._connection is None:
            return
        data = [(bytes.fromhex(tip), marshal.dumps(dict(found))) for tip, found in items.items()]
        rows = [(name, checksum_of(name, value), value) for name, value in data]
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            with self._connection:
                self._connection.executemany("INSERT OR REPLACE INTO work_items VALUES (?, ?, ?)", rows)
        except _FAILURES as error:
            self._drop(error)

    def _open(self, *, create: bool = False) -> None:
        """Open the file and read its keys; with `create` make it, or replace one that cannot be used."""
        try:
            with contextlib.ExitStack() as stack:
                connection = stack.enter_context(contextlib.closing(connect(self._directory, LAYOUT, _BUSY_SECONDS)))
                prepare_rows(connection, LAYOUT, f"{identity_of(self._store)} {_MARSHAL} {_version_of_code()}")
                if os.path.getsize(os.path.join(self._directory, LAYOUT.file)) > MAX_BYTES:
                    raise UnusableIndex(None)
                self._keys = {Oid(key.hex()) for (key,) in connection.execute("SELECT key FROM chunk")}
                self._digests = {key for (key,) in connection.execute("SELECT key FROM digest")}
                self._connection = connection
                stack.pop_all()
        except _FAILURES as error:
            self._drop(error)
            if create and isinstance(error, UnusableIndex):
                self._open()

    def _drop(self, error: Exception) -> None:
        """Close the file after an error, and delete it if it cannot be used any more."""
        self._close()
        self._keys.clear()
        self._digests.clear()
        self._tips = set()
        remove_unusable(self._directory, LAYOUT, error)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _pack(key: Oid, commits: Sequence[Commit]) -> tuple[bytes, int, bytes]:
    """Return the row of a chunk: the fields of its commits as lists, each author once."""
    authors = list(dict.fromkeys(commit.author for commit in commits))
    numbers = {author: number for number, author in enumerate(authors)}
    data = marshal.dumps((
        list(map(tuple, authors)),
        [commit.oid for commit in commits],
        [commit.tree for commit in commits],
        [commit.parents for commit in commits],
        [numbers[commit.author] for commit in commits],
        [commit.time for commit in commits],
        [commit.subject for commit in commits],
        [commit.message_id for commit in commits],
        [commit.kind for commit in commits],
        [commit.to for commit in commits],
        {
            number: dict(commit.other_trailers)
            for number, commit in enumerate(commits)
            if commit.other_trailers is not None
        },
    ))  # fmt: skip
    name = bytes.fromhex(key)
    return name, checksum_of(name, data), data


def _unpack(key: Oid, checksum: int, data: bytes) -> Sequence[Commit]:
    """Return the commits of a row.

    Raises:
        UnusableIndex: the checksum is wrong.
    """
    fields = marshal.loads(_checked(bytes.fromhex(key), checksum, data))  # noqa: S302 - our own file
    names, oids, trees, parents, numbers, times, *texts, others = fields
    authors = [Identity(*name) for name in names]
    who = [authors[number] for number in numbers]
    trailers = map(others.get, range(len(oids)))
    return list(map(Commit._make, zip(oids, trees, parents, who, times, *texts, trailers, strict=True)))


def _checked(key: bytes, checksum: int, data: bytes) -> bytes:
    """Return the bytes of a row.

    Raises:
        UnusableIndex: the checksum is wrong.
    """
    if checksum_of(key, data) != checksum:
        raise UnusableIndex("was damaged")
    return data


@cache
def _version_of_code() -> str:
    """Return a text that differs for another version of scopes: digests are what its rules computed.

    It has the size and the time of the source files, so that it also differs for a changed checkout.
    """
    found = []
    for package in ("history", "merge", "model"):
        with contextlib.suppress(OSError), os.scandir(os.path.join(os.path.dirname(scopes.__file__), package)) as files:
            for file in files:
                if file.name.endswith(".py"):
                    status = file.stat()
                    found.append(f"{package}/{file.name} {status.st_size} {status.st_mtime_ns}")
    return f"{scopes.__version__} {blake2b('|'.join(sorted(found)).encode(), digest_size=16).hexdigest()}"
