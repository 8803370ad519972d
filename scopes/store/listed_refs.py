"""The refs of a store as they were at one moment."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import takewhile


class ListedRefs:
    """The values of all refs at one moment; `is_past` if that is an earlier state of the store."""

    def __init__(self, values: Mapping[str, str], *, is_past: bool) -> None:
        self.is_past = is_past
        self._values = values
        self._names = sorted(values)

    def find(self, name: str) -> str | None:
        """Return the value of a ref; None if it does not exist."""
        return self._values.get(name)

    def list_refs(self, prefixes: tuple[str, ...]) -> dict[str, str]:
        """Return the values of the refs with one of the prefixes, or of all without a prefix, sorted by name."""
        if not prefixes:
            return {name: self._values[name] for name in self._names}
        found = {name: self._values[name] for prefix in prefixes for name in self._walk_names(prefix)}
        return found if len(prefixes) == 1 else dict(sorted(found.items()))

    def _walk_names(self, prefix: str) -> Iterator[str]:
        start = bisect_left(self._names, prefix)
        names = (self._names[number] for number in range(start, len(self._names)))
        return takewhile(lambda name: name.startswith(prefix), names)
