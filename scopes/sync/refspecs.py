"""Refspecs, `SOURCE:PLACE`: which refs of a remote are fetched, and the names that they have in a quarantine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_ANY: Final = "*"  # at the end of a pattern


class Places:
    """The places for the refs of a remote; `by_source` has them by ref or pattern."""

    def __init__(self, refspecs: Iterable[str]) -> None:
        self.by_source = {source: place for source, _, place in (each.partition(":") for each in refspecs)}
        self.patterns = {source: place for source, place in self.by_source.items() if source.endswith(_ANY)}
        self._starts = {source[:-1]: place[:-1] for source, place in self.patterns.items()}

    def find(self, ref: str) -> str | None:
        """Return the place for a ref of the remote; None if it was not asked for."""
        place = self.by_source.get(ref)
        if place is not None:
            return place
        return next((to + ref.removeprefix(start) for start, to in self._starts.items() if ref.startswith(start)), None)
