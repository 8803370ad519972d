"""What a walk needs of kept chunks of commits (`commit_reader`); `index/commit_cache` keeps them in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from scopes.ids import Oid
from scopes.store.objects import Commit

CHUNK_COMMITS: Final = 256
FEW_COMMITS: Final = 64  # a walk of fewer commits does not open the chunks, and a shorter rest is not kept


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

    def knows_work_items(self, tip: Oid) -> bool:
        """Return True if the work items of this history are kept, if the file is not damaged."""

    def find_work_items(self, tip: Oid) -> Mapping[str, int] | None:
        """Return when each work item of the history of a tip was last named; None if that is not kept or damaged."""

    def add_work_items(self, items: Mapping[Oid, Mapping[str, int]]) -> None:
        """Keep the work items of the histories of tips."""
