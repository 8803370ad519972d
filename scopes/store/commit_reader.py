"""Read the commits of a walk, long histories from chunks of parsed commits that an earlier walk kept.

A chunk is what a walk reads one after the other, and its key is the first commit of it. A walk that comes to a key has
the other commits at hand and need not look for them in packs. It does not matter in which order a later walk reads
them: a commit that is in no chunk is read from the store, as are all commits of short walks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from scopes.ids import Oid
from scopes.store.commit_chunks import CHUNK_COMMITS, CommitChunks
from scopes.store.objects import Commit
from scopes.store.repository import Objects, Repository, read_commit


def reader_of(objects: Objects) -> Callable[[Oid], Commit]:
    """Return the function that reads the commits of one walk; it raises as `read_commit` does."""
    open_chunks = objects.open_commit_chunks if isinstance(objects, Repository) else None
    return partial(read_commit, objects) if open_chunks is None else _ChunkReader(objects, open_chunks).read


class _ChunkReader:
    """Reads the commits of one walk; opens the chunks only after as many commits as one chunk has."""

    def __init__(self, objects: Objects, open_chunks: Callable[[], CommitChunks]) -> None:
        self._objects = objects
        self._open_chunks = open_chunks
        self._chunks: CommitChunks | None = None
        self._ahead: dict[Oid, Commit] = {}
        self._read: list[Commit] = []

    def read(self, oid: Oid) -> Commit:
        """Read a commit: the next one of a chunk, the first one of another chunk, or one in the store."""
        commit = self._ahead.pop(oid, None)
        if commit is not None:
            return commit
        if self._chunks is not None and oid in self._chunks:
            found = self._chunks.find(oid)
            if found:
                self._read.clear()
                self._ahead = {commit.oid: commit for commit in found}
                return self._ahead.pop(oid)
        commit = read_commit(self._objects, oid)
        self._read.append(commit)
        if len(self._read) == CHUNK_COMMITS:
            self._keep()
        return commit

    def _keep(self) -> None:
        """Keep what was read as a chunk, unless it is one already."""
        if self._chunks is None:
            self._chunks = self._open_chunks()
        if self._read[0].oid not in self._chunks:
            self._chunks.add(self._read)
        self._read = []
