r"""The bytes of stored JSON: equal values are equal blobs on every machine, so equal histories get equal object ids.

A stored document is one line of UTF-8 and exactly one newline at its end, without blanks. Keys of our own documents are
sorted by code point; a subtree from outside (`Foreign`) keeps the order its author gave it. Text is stored as it came,
never normalised. A half of a surrogate pair, which UTF-8 cannot hold, is written as the escape `\udXXX`; two halves
beside each other are one character. Numbers are written as Python's `repr` has them, the shortest text that reads back
as the same number. JSON text that this would change is stored as text instead (`exact_or_text`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, TypeAlias

from scopes.errors import Corrupt, Invalid

MAX_DEPTH: Final = 200
MAX_DIGITS: Final = 4300  # what Python converts by default; fixed here, since a process may set it otherwise


@dataclass(frozen=True, slots=True)
class Foreign:
    """A JSON subtree that came from outside and keeps its key order; its depth counts from its own root."""

    value: Json


Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | Foreign | None"
_Order: TypeAlias = Callable[[Iterable[str]], list[str]]

_FIRST_TOO_LONG: Final = 10**MAX_DIGITS
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))


def dump(value: Json) -> bytes:
    """Write a value as canonical JSON, ending in one newline.

    Raises:
        Invalid: a key that is no text, a value that is no JSON, NaN, an infinity, an integer of more than 4300 digits,
            nesting deeper than 200 levels, two keys that differ only in how they spell a surrogate pair.
    """
    text = _write(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _write(_join_surrogates(value)).encode("utf-8", "backslashreplace")


def load(data: bytes) -> Json:
    """Read a stored document; a foreign subtree comes back in its own key order, but as a plain value.

    Raises:
        Corrupt: the bytes are no JSON in UTF-8, or hold a number that `dump` refuses. Order and blanks are not checked.
    """
    try:
        document: Json = _STORED.decode(data.decode())
    except json.JSONDecodeError as error:
        raise _damaged(f"no JSON at character {error.pos}") from error
    except UnicodeDecodeError as error:
        raise _damaged(f"no UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise _damaged("nested too deeply") from error
    except ValueError as error:
        raise _damaged("a number is out of range") from error
    return document


def parse_foreign(text: str) -> Foreign | None:
    """Read JSON from outside; None where writing it again would not give the same tokens.

    That is so for duplicate keys, floats that are integral, have an exponent or are not the shortest spelling, `-0`,
    NaN, infinities, integers of more than 4300 digits, nesting deeper than 200 levels, text that UTF-8 cannot hold, and
    what is no JSON. Blanks between tokens and the spelling of escapes inside strings are not kept.
    """
    try:
        value = _read_exactly(text)
    except (ValueError, RecursionError, Invalid):
        return None
    return Foreign(value)


def exact_or_text(name: str, text: str) -> dict[str, Json]:
    """Make the field that holds JSON from outside: `name` with its value, or `<name>_text` with the text itself."""
    foreign = parse_foreign(text)
    return {f"{name}_text": text} if foreign is None else {name: foreign}


def _write(value: Json) -> str:
    return _ENCODER.encode(_arrange(value, MAX_DEPTH, sorted)) + "\n"


def _arrange(value: Json, levels_left: int, order: _Order) -> Json:
    """Copy a value with its keys in order, checking what the encoder would let through.

    Loops, not comprehensions: each of those would be a second Python frame on every level.
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
        "".join(members)  # the fastest test that every key is text
    except TypeError as error:
        raise Invalid("an object has a key that is no text") from error
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
    """Copy a value with the two halves of a surrogate pair joined wherever they stand side by side."""
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
                raise Invalid("two keys of an object are the same text, once with a surrogate pair in two halves")
            return members
    return value


def _joined(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _read_exactly(text: str) -> Json:
    text.encode()  # refuses surrogates: halves from the text and from escapes could meet
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


_STORED: Final = json.JSONDecoder(parse_float=_read_finite, parse_constant=_refuse_constant)
_FOREIGN: Final = json.JSONDecoder(
    object_pairs_hook=_read_distinct,
    parse_float=_read_exact_float,
    parse_int=_read_exact_integer,
    parse_constant=_refuse_constant,
)
