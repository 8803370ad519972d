"""Messages that were searched for secrets by an earlier context, and have nothing like one, are not searched again.

Without RE2 a search of a thousand messages takes as long as all else of a context; with it, less time than to look them
up. The cache of token counts has one entry more for each of them: that its line has no possible secret, by the rules of
this version. What was found is not kept, and what is sent is searched once more, whatever the cache says.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from scopes.secret_scan import prefilter
from scopes.secret_scan.clearance import Gate
from scopes.secret_scan.scan import RULES_VERSION
from scopes.tokens.count import KEY_BYTES, CountCache

_VERSION: Final = 1
"""Changed with what `Gate.may_change` finds, unless the version of the rules is."""
_NOTHING_FOUND: Final = 0


class ClearedLines:
    """Clears the stored lines of messages as the gate does, which redacts."""

    def __init__(self, gate: Gate, counts: CountCache) -> None:
        self._gate = gate
        self._counts = counts
        self._is_fast = prefilter.can_be_fast()
        self._start = sha256(f"\0possible secrets, {RULES_VERSION}.{_VERSION}\0".encode())  # no tokenizer is named so

    def clear(self, data: bytes) -> bytes:
        """Return a line as it may leave."""
        if self._is_fast:
            return self._gate.clear_line(data, "a message")
        digest = self._start.copy()
        digest.update(data)
        key = digest.digest()[:KEY_BYTES]
        if self._counts.find(key) == _NOTHING_FOUND:
            return data
        if self._gate.may_change(data):  # also if its secrets are allowed now: they may not be later
            return self._gate.clear_line(data, "a message")
        self._counts.add(key, _NOTHING_FOUND)
        return data
