"""What only a copy of an answer has too: proofs that a session begins like another one.

Equal content alone is no proof: two sessions that begin with the same prompt often get the same short first answer.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

from scopes.ids import MessageId

MIN_TEXT: Final = 1000  # code points; independent answers to one prompt were equal in up to 559
EXACT: Final = "exact"
_RANDOM_ID: Final = re.compile(r"(?:[A-Za-z]+[_-]){0,2}[A-Za-z0-9-]{20,}")
_EXACT_TIME: Final = re.compile(r".*\.\d*[1-9]\d*(?:Z|[+-]\d\d:\d\d)")  # with a fraction of a second


def prove_by_id(message: MessageId, name: object) -> bytes | None:
    """Return the proof by the id of an answer or a call that the API of a model gave; None if it is not random."""
    return _prove(message, "id", name) if isinstance(name, str) and _RANDOM_ID.fullmatch(name) else None


def prove_by_time(message: MessageId, time: str | None, precision: object) -> bytes | None:
    """Return the proof by the time of an answer; None if it is not exact."""
    if precision != EXACT or time is None or not _EXACT_TIME.fullmatch(time):
        return None
    return _prove(message, "time", time)


def prove_by_text(message: MessageId, length: int) -> bytes | None:
    """Return the proof by what an agent has written up to an answer; None if that is not long enough."""
    return _prove(message, "text", "") if length >= MIN_TEXT else None


def _prove(message: MessageId, kind: str, value: str) -> bytes:
    return sha256("\0".join((message, kind, value)).encode("utf-8", "surrogatepass")).digest()[:16]
