"""JSON from outside, read so that what a round trip would change is noticed: numbers, repeated keys.

Nearly every record is written back to the very same text, which one comparison proves; only the others are read again
with hooks that remember the tokens.
"""

from __future__ import annotations

import json
from typing import Any, Self

_COMPACT = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))


class InexactNumber(float):
    """A number whose text Python would write differently; `token` is that text."""

    __slots__ = ("token",)
    token: str

    def __new__(cls, token: str) -> Self:
        """Read the number and keep its text."""
        number = super().__new__(cls, float(token))
        number.token = token
        return number


class RepeatedKeys(dict[str, Any]):
    """An object that names a key twice; the last one counts, `pairs` has them all."""

    __slots__ = ("pairs",)
    pairs: list[tuple[str, Any]]


def decode(text: str) -> Any:
    """Read one JSON document.

    Raises:
        ValueError: it is none, or holds an integer of more than 4300 digits.
        RecursionError: it is nested too deeply.
    """
    value = json.loads(text)
    return value if _is_exact(text, value) else _CAREFUL.decode(text)


def decode_first(text: str, start: int) -> tuple[Any, int]:
    """Read the document that begins at `start`; returns it and where it ends. Raises as `decode` does."""
    return _CAREFUL.raw_decode(text, start)


def foreign(name: str, value: Any) -> dict[str, Any]:
    """Return the field that holds a value from outside: itself where that is exact, otherwise its text."""
    return {f"{name}_text": _write(value)} if _holds_inexact(value) else {name: value}


def _is_exact(text: str, value: Any) -> bool:
    try:
        return _COMPACT.encode(value) == text.strip()
    except (ValueError, RecursionError):
        return False


def _read_float(token: str) -> float:
    number = float(token)
    return number if repr(number) == token and not token.endswith(".0") else InexactNumber(token)


def _read_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    repeated = RepeatedKeys(plain)
    repeated.pairs = pairs
    return repeated


def _read_constant(token: str) -> InexactNumber:
    return InexactNumber(token)


_CAREFUL = json.JSONDecoder(
    parse_float=_read_float, parse_constant=_read_constant, object_pairs_hook=_read_pairs, strict=False
)


def _holds_inexact(value: Any) -> bool:
    if isinstance(value, (InexactNumber, RepeatedKeys)):
        return True
    if isinstance(value, dict):
        return any(_holds_inexact(item) for item in value.values())
    return isinstance(value, list) and any(_holds_inexact(item) for item in value)


def _write(value: Any) -> str:
    if isinstance(value, InexactNumber):
        return value.token
    if isinstance(value, dict):
        pairs = value.pairs if isinstance(value, RepeatedKeys) else list(value.items())
        return "{" + ",".join(f"{_COMPACT.encode(key)}:{_write(item)}" for key, item in pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_write, value)) + "]"
    return _COMPACT.encode(value)
