"""Read the commits of a walk, long histories from chunks of parsed commits that an earlier walk kept.

A chunk is what a walk reads one after the other, and its key is the first commit of it. The last one of a long walk has
what is left down to the root. A walk that comes to a key has
the other commits at hand and need not look for them in packs. It does not matter in which order a later walk reads
them: a commit that is in no chunk is read from the store, as are all commits of short walks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from scopes.ids import Oid
from scopes.store.commit_chunks import CHUNK_COMMITS, FEW_COMMITS, CommitChunks
from scopes.store.objects import Commit
from scopes.store.repository import Objects, Repository, read_commit


def reader_of(objects: Objects) -> Callable[[Oid], Commit]:
    """Return the function that reads the commits of one walk; it raises as `read_commit` does."""
    open_chunks = objects.open_commit_chunks if isinstance(objects, Repository) else None
    return partial(read_commit, objects) if open_chunks is None else _ChunkReader(objects, open_chunks).read


class _ChunkReader:
    """Reads the commits of one walk; opens the chunks only after a number of commits."""

    def __init__(self, objects: Objects, open_chunks: Callable[[], CommitChunks]) -> None:
        self._objects = objects
        self._open_chunks = open_chunks
        self._chunks: CommitChunks | None = None
        self._ahead: dict[Oid, Commit] = {}
        self._read: list[Commit] = []
        self._is_long = False  # a whole chunk was found or kept

    def read(self, oid: Oid) -> Commit:
        """Read a commit: the next one of a chunk, the first one of another chunk, or one in the store."""
        commit = self._ahead.pop(oid, None)
        if commit is not None:
            return commit
        if self._chunks is not None and oid in self._chunks:
            found = self._chunks.find(oid)
            if found:
                self._use(found)
                return self._ahead.pop(oid)
        commit = read_commit(self._objects, oid)
        self._read.append(commit)
        number = len(self._read)
        if number == CHUNK_COMMITS or (self._is_long and number >= FEW_COMMITS and not commit.parents):
            self._keep()
        elif number == FEW_COMMITS and self._chunks is None:
            self._open()
        return commit

    def _use(self, found: Sequence[Commit]) -> None:
        self._read.clear()
        self._ahead = {commit.oid: commit for commit in found}
        self._is_long = True

    def _open(self) -> CommitChunks:
        """Open the chunks; use the one whose first commit was the first one of the walk."""
        self._chunks = self._open_chunks()
        found = self._chunks.find(self._read[0].oid) if self._read[0].oid in self._chunks else ()
        if found:
            before = self._read.copy()
            self._use(found)
            for commit in before:
                self._ahead.pop(commit.oid, None)
        return self._chunks

    def _keep(self) -> None:
        """Keep what was read as a chunk, unless it is one already."""
        chunks = self._open() if self._chunks is None else self._chunks
        if self._read and self._read[0].oid not in chunks:
            chunks.add(self._read)
        self._read = []
        self._is_long = True
