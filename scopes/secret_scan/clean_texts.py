"""Cache of small texts without secrets, in this process: many of them are in nearly all conversations.

Examples are names of authors, agents and files, and documents such as `{"kind":"agent"}`. Without RE2 a search of a few
bytes takes a tenth of a millisecond.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scopes.secret_scan import prefilter

_MAX_TEXTS: Final = 10_000
_MAX_BYTES: Final = 100  # characters of a text; longer ones are rarely equal


class CleanTexts:
    """Searches texts for secrets and for the beginnings of cut secrets, each text once."""

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
