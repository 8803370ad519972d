"""What a walk needs of kept chunks of commits (`commit_reader`); `index/commit_cache` keeps them in a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from scopes.ids import Oid
from scopes.store.objects import Commit

CHUNK_COMMITS: Final = 256


class CommitChunks(Protocol):
    """Kept chunks of commits; without them everything works, but slower. No method raises."""

    def __contains__(self, key: object) -> bool:
        """Return True if there is a chunk with this key."""

    def find(self, key: Oid) -> Sequence[Commit]:
        """Return the commits of a chunk, none if it is not there or damaged."""

    def add(self, commits: Sequence[Commit]) -> None:
        """Keep a chunk; its first commit is the key."""
