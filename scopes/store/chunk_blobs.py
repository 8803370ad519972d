"""The first blob of each tree of a chunk of commits, so that a log with bodies need not read the trees of messages.

The names of the blobs are kept beside the chunk (`commit_chunks`) by the walk that reads the trees.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from scopes.ids import Oid
from scopes.store.commit_chunks import CommitChunks
from scopes.store.objects import Commit

if TYPE_CHECKING:
    from scopes.store.packs.reader import PackReader

_NAME_BYTES: Final = 20
_UNKNOWN: Final = bytes(_NAME_BYTES)


class FirstBlobs:
    """Finds first blobs in the trees of the chunk that a walk is in, and in other trees.

    The chunks are not kept open: what is learned after the end of the walk is lost.
    """

    def __init__(self) -> None:
        self._entered: tuple[weakref.ref[CommitChunks], Sequence[Commit]] | None = None
        self._names: dict[Oid, bytes] = {}
        self._chunk: _ChunkNames | None = None

    def enter(self, chunks: CommitChunks, commits: Sequence[Commit]) -> None:
        """Note that a walk has come to a chunk; the names are read only if one of them is needed."""
        self._entered = weakref.ref(chunks), commits

    def find(self, reader: PackReader, tree: Oid, start: bytes) -> bytes | None:
        """Return the bytes of the blob as `PackReader.find_first_blob` does."""
        if self._entered is not None:
            self._open(*self._entered, start)
        name = self._names.get(tree)
        found = None if name is None else reader.find_blob(name)
        if found is None:
            name, found = reader.find_first_blob(tree, start)
            if found is not None and self._chunk is not None:
                self._chunk.learn(tree, name)
        return found

    def _open(self, chunks: weakref.ref[CommitChunks], commits: Sequence[Commit], start: bytes) -> None:
        if self._chunk is not None:
            self._chunk.save()
        self._entered = None
        self._chunk = _ChunkNames(chunks, commits, start)
        self._names = self._chunk.names


class _ChunkNames:
    """The names of the blobs, 20 bytes each, by tree; `start` is how the entries begin."""

    def __init__(self, chunks: weakref.ref[CommitChunks], commits: Sequence[Commit], start: bytes) -> None:
        self._chunks = chunks
        self._key = start + bytes.fromhex(commits[0].oid)
        self._trees = [commit.tree for commit in commits if commit.parents]  # no walk needs the tree of the root
        self._unknown = set(self._trees)
        self._is_new = False
        opened = chunks()
        kept = (None if opened is None else opened.find_digest(self._key)) or b""
        if len(kept) != _NAME_BYTES * len(self._trees):
            kept = _UNKNOWN * len(self._trees)
        names = (kept[at : at + _NAME_BYTES] for at in range(0, len(kept), _NAME_BYTES))
        pairs = zip(self._trees, names, strict=True)
        self.names = {tree: name for tree, name in pairs if name != _UNKNOWN}
        self._unknown.difference_update(self.names)

    def learn(self, tree: Oid, name: bytes) -> None:
        """Add the name of the blob of a tree; the last tree of the chunk saves all."""
        if tree in self._unknown:
            self.names[tree] = name
            self._is_new = True
            if tree == self._trees[-1]:
                self.save()

    def save(self) -> None:
        """Keep the names if there are new ones."""
        chunks = self._chunks()
        if self._is_new and chunks is not None:
            names = [self.names.get(tree, _UNKNOWN) for tree in self._trees]
            chunks.add_digests({self._key: b"".join(names)})
        self._is_new = False
