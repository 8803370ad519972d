"""Look for any of very many byte strings in data, in one pass, however many there are.

Data are looked at in pieces of eight bytes, one after another. Wherever a string of fifteen bytes or more is in them,
one of its first eight pieces is such a piece: these are looked up, and only where one is found, the strings around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

_FEW: Final = 24  # which are found sooner one by one
_PIECE: Final = 8  # bytes
_SHORTEST: Final = 2 * _PIECE - 1


class Needles:
    """Byte strings to look for."""

    def __init__(self, needles: Iterable[bytes]) -> None:
        known = dict.fromkeys(filter(None, needles))
        is_few = len(known) <= _FEW
        self._single = [needle for needle in known if is_few or len(needle) < _SHORTEST]
        self._many = set() if is_few else {needle for needle in known if len(needle) >= _SHORTEST}

    def __bool__(self) -> bool:
        return bool(self._single or self._many)

    def are_in(self, data: bytes) -> bool:
        """Return True if data have one of them."""
        return next(self.walk(data), None) is not None

    def walk(self, data: bytes) -> Iterator[bytes]:
        """Yield those that data have, some of them again."""
        yield from (needle for needle in self._single if needle in data)
        if not self._many or len(data) < _SHORTEST:
            return
        pieces = memoryview(data)[: len(data) // _PIECE * _PIECE].cast("Q")
        if self._pieces.isdisjoint(pieces):
            return
        end = 0
        for number, piece in enumerate(pieces):
            if piece in self._pieces:
                place = number * _PIECE
                for start in range(max(place - _PIECE + 1, end), place + 1):
                    for length in self._lengths.get(data[start : start + _PIECE], ()):
                        found = data[start : start + length]
                        if found in self._many:
                            yield found
                end = place + 1

    @cached_property
    def _pieces(self) -> set[int]:
        """The numbers of all pieces that begin in the first eight bytes of one of them."""
        found: set[int] = set()
        for shift in range(_PIECE):
            joined = b"".join(needle[shift : shift + _PIECE] for needle in self._many)
            found.update(memoryview(joined).cast("Q"))
        return found

    @cached_property
    def _lengths(self) -> dict[bytes, tuple[int, ...]]:
        """How long those are that begin with eight bytes."""
        found: dict[bytes, set[int]] = {}
        for needle in self._many:
            found.setdefault(needle[:_PIECE], set()).add(len(needle))
        return {begin: tuple(lengths) for begin, lengths in found.items()}
