"""Read JSON without losing a value: if an object has a key several times, other readers return only one of the values.

Stored documents have every key once, but a line that another program has written may not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final


class RepeatedKeys(dict[str, Any]):
    """An object with a key several times: a lookup returns the last value, and `items` has all of them, in order."""

    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        self._pairs = list(pairs)
        super().__init__(self._pairs)

    def items(self) -> Any:
        """Return every pair; `json.dumps` writes these."""
        return self._pairs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RepeatedKeys) and self._pairs == other._pairs

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None


def _read_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else RepeatedKeys(pairs)


EVERY_VALUE: Final = json.JSONDecoder(object_pairs_hook=_read_pairs)
"""Makes a RepeatedKeys of an object with a key several times."""
