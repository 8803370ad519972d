"""Decode JSON without loss: keep the text of inexact numbers, and all pairs of objects with repeated keys.

A value that would survive a round trip through Python is a plain value.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Self

from scopes import fast_json

MAX_DEPTH = 200  # as deep as a stored document may be
NOT_DECODED = object()
_KEPT_BYTES = 1 << 20
_LINE_END = ord("\n")
_SHORT_BYTES = 1 << 12  # to count a byte takes longer than to find it, but for a short document
_alive: set[int] = set()  # the addresses of all inexact values
_encoded = bytearray()  # of the last document: no new memory for each
_EXACT = frozenset({str, int, float, bool, type(None)})
_COMPACT = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))


class _Listed:
    """Lists the inexact values of this process: if there are none now, no value need be searched for them."""

    __slots__ = ()

    def __del__(self) -> None:
        _alive.discard(id(self))


class InexactNumber(_Listed, float):
    """A number that Python would write differently; `token` is its text."""

    __slots__ = ("token",)
    token: str

    def __new__(cls, token: str) -> Self:
        """Parse the number and keep its text."""
        number = super().__new__(cls, float(token))
        _alive.add(id(number))
        number.token = token
        return number


class RepeatedKeys(_Listed, dict[str, Any]):
    """An object with a repeated key; the last value counts, `pairs` has all of them."""

    __slots__ = ("pairs",)
    pairs: list[tuple[str, Any]]

    def __new__(cls, *_: object) -> Self:
        """Make an object without keys."""
        empty = super().__new__(cls)
        _alive.add(id(empty))
        return empty


def decode(text: str) -> Any:
    """Decode one JSON document.

    Raises:
        ValueError: it is not valid, or has an integer of more than 4300 digits.
        RecursionError: it is nested deeper than 200 levels.
    """
    value = _DECODER.decode(text)
    _check_depth(value, text, 0, len(text))
    return value


def decode_fast(document: bytes) -> Any:
    """Decode one JSON document with msgspec as `decode` does; return NOT_DECODED if that is not certain.

    msgspec loses repeated keys and the text of some numbers. So the value is encoded again: if that gives the same
    bytes, then nothing was lost. That is so for documents without blanks and with the usual escapes. The document may
    be a line with its end.
    """
    if fast_json.library is None:
        return NOT_DECODED
    try:
        value = _fast_decoder().decode(document)
        _fast_encoder().encode_into(value, _encoded)
    except (ValueError, TypeError, RecursionError):  # ValueError includes the errors of msgspec
        return NOT_DECODED
    if document.endswith(b"\n"):
        _encoded.append(_LINE_END)
    is_equal = _encoded == document
    if len(_encoded) > _KEPT_BYTES:
        _encoded.clear()
    return value if is_equal and not (_may_be_deep(document) and _is_deep(value)) else NOT_DECODED


def find_text_field(document: bytes, name: str) -> Any:
    """Return a field of a JSON object that `decode` would return too, without decoding the rest.

    Return None if there is none or it is no text, NOT_DECODED if that is not certain. A document that `decode` refuses
    may have the field as well.
    """
    if fast_json.library is None:
        return NOT_DECODED
    try:
        value = _field_decoder(name).decode(document)
    except (ValueError, TypeError, RecursionError):
        return NOT_DECODED
    return value.found if isinstance(value.found, str) else None


def decode_first(text: str, start: int) -> tuple[Any, int]:
    """Decode the document that begins at `start`; return it and its end. Raises the same as `decode`."""
    value, end = _DECODER.raw_decode(text, start)
    _check_depth(value, text, start, end)
    return value, end


def describe_error(error: ValueError | RecursionError, not_json: str = "not valid JSON") -> str:
    """Return what is wrong with a document that `decode` or `decode_first` could not read."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return not_json if isinstance(error, json.JSONDecodeError) else "an integer has too many digits"


def lossless_field(name: str, value: Any) -> dict[str, Any]:
    """Return `{name: value}` if the value is exact, else `{name_text: its JSON text}`."""
    return {f"{name}_text": _encode(value)} if _holds_inexact(value) else {name: value}


def _check_depth(value: Any, text: str, start: int, end: int) -> None:
    """Raise RecursionError over MAX_DEPTH levels: Python's own limit depends on the caller's stack depth."""
    if text.count("{", start, end) + text.count("[", start, end) > MAX_DEPTH and _is_deep(value):
        raise RecursionError


def _may_be_deep(document: bytes) -> bool:
    """Return False if a document has no more than MAX_DEPTH brackets that open a level."""
    if len(document) <= _SHORT_BYTES:
        return document.count(b"{") + document.count(b"[") > MAX_DEPTH
    left = MAX_DEPTH
    for bracket in (b"{", b"["):
        at = document.find(bracket)
        while at >= 0 and left >= 0:
            left -= 1
            at = document.find(bracket, at + 1)
    return left < 0


def _is_deep(value: Any) -> bool:
    """Return True if a value has more than MAX_DEPTH levels."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        items = (container.values() if isinstance(container, dict) else container for container in level)
        level = [item for group in items for item in group if isinstance(item, (dict, list))]
        if not level:
            return False
    return True


@cache
def _fast_decoder() -> Any:
    return fast_json.library.Decoder(float_hook=_read_float)


@cache
def _field_decoder(name: str) -> Any:
    """Return a decoder of objects with one field; msgspec reads over all others."""
    from msgspec import field

    fields = [("found", Any, field(default=None, name=name))]
    from msgspec import defstruct

    return fast_json.library.Decoder(defstruct("OneField", fields))


@cache
def _fast_encoder() -> Any:
    from msgspec import Raw

    raw = Raw
    return fast_json.library.Encoder(enc_hook=lambda number: raw(number.token.encode()))


def _read_float(token: str) -> float:
    number = float(token)
    exact = repr(number) == token and "e" not in token and not number.is_integer()
    return number if exact else InexactNumber(token)


def _read_integer(digits: str) -> float:
    return InexactNumber(digits) if digits == "-0" else int(digits)


def _read_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    repeated = RepeatedKeys(plain)
    repeated.pairs = pairs
    return repeated


def _read_constant(token: str) -> InexactNumber:
    return InexactNumber(token)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_read_pairs,
    parse_float=_read_float,
    parse_int=_read_integer,
    parse_constant=_read_constant,
    strict=False,
)


def _holds_inexact(value: Any) -> bool:
    if not _alive:
        return False
    if isinstance(value, (InexactNumber, RepeatedKeys)):
        return True
    if not isinstance(value, (dict, list)):
        return False
    items = value.values() if isinstance(value, dict) else value
    return not _EXACT.issuperset(map(type, items)) and any(_holds_inexact(item) for item in items)


def _encode(value: Any) -> str:
    if isinstance(value, InexactNumber):
        return value.token
    if isinstance(value, dict):
        pairs = value.pairs if isinstance(value, RepeatedKeys) else list(value.items())
        return "{" + ",".join(f"{_COMPACT.encode(key)}:{_encode(item)}" for key, item in pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_encode, value)) + "]"
    return _COMPACT.encode(value)
