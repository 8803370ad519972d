"""Texts that were searched in this process and have nothing like a secret: many small ones are the same everywhere.

Names of authors, agents and files, and documents such as `{"kind":"agent"}`, are in nearly all conversations. A search
of a few bytes takes a tenth of a millisecond without RE2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scopes.secret_scan import prefilter

_MAX_TEXTS: Final = 10_000
_MAX_BYTES: Final = 100  # of a text; longer ones are seldom the same


class CleanTexts:
    """Searches texts for secrets and for the beginnings of secrets that a limit has cut."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def may_hold(self, texts: Iterable[bytes]) -> bool:
        """Return False if none of the texts has a secret, or a beginning of one."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if not new:
            return False
        joined = b"\n".join(new)
        if prefilter.may_hold_secret(joined) or prefilter.may_hold_beginning(joined):
            return True
        if len(self._known) + len(new) > _MAX_TEXTS:
            self._known.clear()
        self._known.update([text for text in new if len(text) <= _MAX_BYTES])
        return False
