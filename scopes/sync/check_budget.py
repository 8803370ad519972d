"""Limit the work of checking fetched objects, for one conversation and for a whole fetch.

A tree can contain another tree many times, on several levels: sixty small trees can have more paths than anybody can
visit. Reading each object once takes work in proportion to what was sent, and is not limited here. Only trees that are
read again at another path are counted, so that the work above that is bounded, now and whenever the paths are walked.
"""

from __future__ import annotations

import time
from typing import Final

from scopes.errors import Corrupt
from scopes.ids import Oid

MAX_REPEATED: Final = 100_000  # entries of trees of one conversation; equal directories in a project have some hundreds
MAX_REPEATED_IN_ALL: Final = 1_000_000  # of all conversations of a fetch; what is above a few needs some of it
ALWAYS: Final = 1000  # entries that any conversation may repeat, whatever others have
MAX_SECONDS: Final = 3600.0  # as one command of git may take
MAX_SECONDS_EACH: Final = 600.0  # for one conversation: thousands of messages take some seconds
_ENTRY_BYTES: Final = 28  # at least: mode, blank, one letter, NUL and id


class CheckBudget:
    """Counts tree entries that are read again, and measures the time, conversation by conversation."""

    def __init__(self) -> None:
        self._left_in_all = MAX_REPEATED_IN_ALL
        self._end = time.monotonic() + MAX_SECONDS
        self.begin()

    def begin(self) -> None:
        """Begin with another conversation."""
        self._given = max(ALWAYS, min(MAX_REPEATED, self._left_in_all))
        self._left = self._given
        self._trees: set[Oid] = set()
        self._places: set[tuple[str, Oid]] = set()
        self._end_of_this = min(self._end, time.monotonic() + MAX_SECONDS_EACH)

    def is_first_visit(self, path: str, tree: Oid) -> bool:
        """Return False if a tree was visited at this path before: all below it was checked then."""
        if (path, tree) in self._places:
            return False
        self._places.add((path, tree))
        return True

    def count(self, tree: Oid, data: bytes) -> None:
        """Count the entries of a tree that is read at one more path; `data` are its bytes.

        Raises:
            Corrupt: the conversation has more such entries than its limit.
        """
        if tree not in self._trees:
            self._trees.add(tree)
            return
        entries = 1 + len(data) // _ENTRY_BYTES
        self._left -= entries
        self._left_in_all -= entries
        if self._left < 0:
            raise Corrupt(f"it has the same directories at too many paths: more than {self._given:,} files in them")

    def check_time(self) -> None:
        """Check that there is time left.

        Raises:
            Corrupt: there is none.
        """
        if time.monotonic() > self._end_of_this:
            raise Corrupt(f"to check it took too long: at most {MAX_SECONDS_EACH:.0f} seconds for one conversation")
