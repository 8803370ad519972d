r"""Canonical JSON: equal values are equal blobs on every machine, so equal histories get equal object ids.

A stored document is one line of UTF-8 without blanks, ending in one newline. The keys of our own documents are sorted
by code point; a subtree from a foreign source (`Foreign`) keeps its key order. Text is stored unchanged, never
normalized. A lone surrogate, which UTF-8 cannot encode, is written as the escape `\udXXX`; two halves of a pair are one
character. Numbers are written as by Python's `repr`, the shortest text that is read as the same number. Foreign JSON
that these rules would change is stored as text (`exact_or_text`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any, Final, TypeAlias, TypeVar

from scopes.errors import Corrupt, Invalid

MAX_DEPTH: Final = 200
MAX_DIGITS: Final = 4300  # Python's default limit; fixed here, because a process may change it


class Foreign:
    """A JSON subtree from a foreign source; it keeps its key order, and its depth counts from its own root."""

    __slots__ = ("value",)

    def __init__(self, value: Json) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Foreign) and self.value == other.value

    def __hash__(self) -> int:
        return hash(Foreign)

    def __repr__(self) -> str:
        return f"Foreign({self.value!r})"


Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | Foreign | None"
_Order: TypeAlias = Callable[[Iterable[str]], list[str]]

Value = TypeVar("Value")

_TEXT: Final = frozenset({str})
_FIRST_TOO_LONG: Final = 10**MAX_DIGITS
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))


def dump(value: Json) -> bytes:
    """Encode a value as canonical JSON, ending in one newline.

    Raises:
        Invalid: a key is not text, a value is not JSON, NaN or infinite, an integer has more than 4300 digits, nesting
            is deeper than 200 levels, or two keys are equal except that one splits a surrogate pair.
    """
    text = _write(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _write(_join_surrogates(value)).encode("utf-8", "backslashreplace")


def load_distinct(data: bytes) -> Json:
    """Decode a stored document that another program may have written; raises as `load`, also for a key twice.

    Other readers take another one of the two values, so the document would not say the same to all.
    """
    return load(data, _DISTINCT)


def load(data: bytes, decoder: json.JSONDecoder | None = None) -> Json:
    """Decode a stored document; foreign subtrees keep their key order, but are plain values.

    Raises:
        Corrupt: the bytes are not JSON in UTF-8, or contain a number that `dump` refuses. Key order and blanks are not
            checked.
    """
    try:
        text = data.decode()
        document = _load_line(text, decoder or _STORED)
    except json.JSONDecodeError as error:
        raise _damaged(f"invalid JSON at character {error.pos}") from error
    except UnicodeDecodeError as error:
        raise _damaged(f"invalid UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise _damaged("nested too deeply") from error
    except ValueError as error:
        raise _damaged("a number is out of range") from error
    return document


def _load_line(text: str, decoder: json.JSONDecoder) -> Json:
    """Decode a document as `dump` writes it; any other text is decoded again, or its errors are found."""
    try:
        document: Json
        document, end = decoder.raw_decode(text)
        if text[end:] == "\n":
            return document
    except json.JSONDecodeError:
        pass
    document = decoder.decode(text)
    return document


def parse_foreign(text: str) -> Foreign | None:
    """Parse foreign JSON; return None if encoding it again would not give the same tokens.

    That is the case for duplicate keys, floats that are integral, have an exponent or are not in the shortest form,
    `-0`, NaN, infinities, integers of more than 4300 digits, nesting deeper than 200 levels, text that UTF-8 cannot
    encode, and invalid JSON. Blanks between tokens and the form of escapes in strings are not preserved.
    """
    try:
        value = _read_exactly(text)
    except (ValueError, RecursionError, Invalid):
        return None
    return Foreign(value)


def exact_or_text(name: str, text: str) -> dict[str, Json]:
    """Return the field that stores foreign JSON: `name` with the value, or `<name>_text` with the unparsed text."""
    foreign = parse_foreign(text)
    return {f"{name}_text": text} if foreign is None else {name: foreign}


def without_none(**fields: Value | None) -> dict[str, Value]:
    """Return the fields that are not None, in order: unknown fields of a JSON object are absent."""
    return {name: value for name, value in fields.items() if value is not None}


def _write(value: Json) -> str:
    return _ENCODER.encode(_arrange(value, MAX_DEPTH, sorted)) + "\n"


def _arrange(value: Json, levels_left: int, order: _Order) -> Json:
    """Copy a value with its keys in order, and check what the encoder does not check.

    This uses loops: a comprehension would be a second Python frame on every level.
    """
    match value:
        case dict() | list() if levels_left == 0:
            raise Invalid(f"a value is nested deeper than {MAX_DEPTH} levels", hint="store it as text")
        case dict():
            members: dict[str, Json] = {}
            for key in _keys(value, order):
                item = value[key]
                members[key] = item if type(item) is str else _arrange(item, levels_left - 1, order)
            return members
        case list() if value and set(map(type, value)) == _TEXT:
            return value
        case list():
            items: list[Json] = []
            for item in value:
                items.append(item if type(item) is str else _arrange(item, levels_left - 1, order))  # noqa: PERF401
            return items
        case str() | None:
            return value
        case Foreign():
            return _arrange(value.value, MAX_DEPTH if order is sorted else levels_left, list)
    return _number(value)


def _keys(members: dict[str, Json], order: _Order) -> list[str]:
    try:
        "".join(members)  # the fastest way to check that every key is text
    except TypeError as error:
        raise Invalid("an object has a key that is not text") from error
    return order(members)


def _number(value: object) -> float:
    match value:
        case int() if -_FIRST_TOO_LONG < value < _FIRST_TOO_LONG:
            return value
        case float() if isfinite(value):
            return value
        case int() | float():
            what = f"NaN, an infinity or an integer of more than {MAX_DIGITS} digits"
        case _:
            what = f"a value of type {type(value).__name__}"
    raise Invalid(f"{what} cannot be stored as JSON")


def _join_surrogates(value: Json) -> Json:
    """Copy a value and join the halves of each surrogate pair."""
    match value:
        case str():
            return _joined(value)
        case list():
            return list(map(_join_surrogates, value))
        case Foreign():
            return Foreign(_join_surrogates(value.value))
        case dict():
            members = dict(zip(map(_joined, value), map(_join_surrogates, value.values()), strict=True))
            if len(members) < len(value):
                raise Invalid("two keys of an object are the same text, one of them with a split surrogate pair")
            return members
    return value


def _joined(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _read_exactly(text: str) -> Json:
    text.encode()  # raises on surrogates: halves from the text and from escapes could form a pair
    return _arrange(_FOREIGN.decode(text), MAX_DEPTH, list)


def _damaged(reason: str) -> Corrupt:
    return Corrupt(f"stored data cannot be read: {reason}", hint="see: scopes verify")


def _refuse_constant(token: str) -> float:
    raise ValueError(token)


def _read_finite(token: str) -> float:
    number = float(token)
    if not isfinite(number):
        raise ValueError(token)
    return number


def _read_exact_float(token: str) -> float:
    number = float(token)
    if "e" in token or number.is_integer() or repr(number) != token:
        raise ValueError(token)
    return number


def _read_exact_integer(digits: str) -> int:
    if digits == "-0":
        raise ValueError(digits)
    return int(digits)


def _read_distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("duplicate key")
    return members


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _damaged("an object has a key twice")
    return members


_STORED: Final = json.JSONDecoder(parse_float=_read_finite, parse_constant=_refuse_constant)
_DISTINCT: Final = json.JSONDecoder(
    object_pairs_hook=_refuse_duplicates, parse_float=_read_finite, parse_constant=_refuse_constant
)
_FOREIGN: Final = json.JSONDecoder(
    object_pairs_hook=_read_distinct,
    parse_float=_read_exact_float,
    parse_int=_read_exact_integer,
    parse_constant=_refuse_constant,
)
