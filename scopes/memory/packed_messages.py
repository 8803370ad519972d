"""The source messages of a long conversation, compressed in memory: their texts take hundreds of megabytes otherwise.

They can be read again and again, in both directions. Nothing of it is written to a disk.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Collection, Iterable, Iterator, Reversible

from scopes.ids import MessageId
from scopes.memory.source_messages import SourceMessage

_AT_ONCE = 64  # messages that are compressed together, and are in memory while they are read
_LEVEL = 1


class PackedMessages(Collection[SourceMessage], Reversible[SourceMessage]):
    """Source messages in order."""

    def __init__(self, messages: Iterable[SourceMessage] = (), dropped: Collection[MessageId] = frozenset()) -> None:
        """Take messages; those in `dropped`, which may grow meanwhile, are left out when they are read."""
        self._blobs: list[bytes] = []
        self._dropped = dropped
        block: list[SourceMessage] = []
        count = 0
        for source in messages:
            count += 1
            block.append(source)
            if len(block) == _AT_ONCE:
                self._pack(block)
                block = []
        self._pack(block)
        self._size = sum(1 for _ in self) if dropped else count

    @property
    def packed_bytes(self) -> int:
        """The size in memory."""
        return sum(map(len, self._blobs))

    def __len__(self) -> int:
        """Return the number of messages."""
        return self._size

    def __iter__(self) -> Iterator[SourceMessage]:
        """Yield the messages, oldest first."""
        for blob in self._blobs:
            yield from (each for each in _unpack(blob) if each.head.id not in self._dropped)

    def __reversed__(self) -> Iterator[SourceMessage]:
        """Yield the messages, newest first."""
        for blob in reversed(self._blobs):
            yield from (each for each in reversed(_unpack(blob)) if each.head.id not in self._dropped)

    def __contains__(self, message: object) -> bool:
        """Return True if an equal message is among them."""
        return any(each == message for each in self)

    def _pack(self, block: list[SourceMessage]) -> None:
        if block:
            self._blobs.append(zlib.compress(pickle.dumps(block, pickle.HIGHEST_PROTOCOL), _LEVEL))


def _unpack(blob: bytes) -> list[SourceMessage]:
    found: list[SourceMessage] = pickle.loads(zlib.decompress(blob))  # noqa: S301 - packed by this process
    return found
