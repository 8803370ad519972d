"""What a walk needs of kept chunks of commits (`commit_reader`); `index/commit_cache` keeps them in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from scopes.ids import Oid
from scopes.store.objects import Commit

CHUNK_COMMITS: Final = 256


class CommitChunks(Protocol):
    """Kept chunks of commits, and digests of them; without them everything works, but slower. No method raises.

    A digest is what was computed from the commits of a history, under a key that names the commits (`merge/`).
    """

    def __contains__(self, key: object) -> bool:
        """Return True if there is a chunk with this key."""

    def find(self, key: Oid) -> Sequence[Commit]:
        """Return the commits of a chunk, none if it is not there or damaged."""

    def add(self, commits: Sequence[Commit]) -> None:
        """Keep a chunk; its first commit is the key."""

    def has_digest(self, key: bytes) -> bool:
        """Return True if there is a digest with this key."""

    def find_digest(self, key: bytes) -> bytes | None:
        """Return a digest, None if it is not there or damaged."""

    def add_digests(self, digests: Mapping[bytes, bytes]) -> None:
        """Keep digests by key."""
