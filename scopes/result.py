"""Result, the base class of what operations return, and Note, a warning in a result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

_MAX_NAMED = 16


def plural(number: int, noun: str) -> str:
    """Return the noun for a number: `message` for 1, otherwise `messages`, `branches`."""
    return noun if number == 1 else noun + ("es" if noun.endswith("ch") else "s")


def few(what: str, names: Iterable[str]) -> str:
    """Return `what: a, b, ...` with at most 16 names, each once and sorted; an empty text without names."""
    found = sorted(set(names))
    shown = ", ".join(found[:_MAX_NAMED]) + (", ..." if len(found) > _MAX_NAMED else "")
    return f"{what}: {shown}" if found else ""


def first_few(names: Iterable[str], limit: int = 5) -> str:
    """Return `a, b, c, d, e and 35 more`: at most `limit` names, in their order, and how many others there are."""
    found = list(names)
    more = len(found) - limit
    return ", ".join(found[:limit]) + (f" and {more:,} more" if more > 0 else "")


class Note(NamedTuple):
    """A warning for the user; `hint` says what to do about it."""

    text: str
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Base class of all results; each subclass has one text and one JSON rendering."""

    notes: tuple[Note, ...] = field(default=())

    @property
    def exit_code(self) -> int:
        """The exit code of the process after the result was shown."""
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream(Result):
    """A result that is produced item by item: one JSON line for each, or one text view of all."""

    items: Iterable[Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawDocument(Result):
    """A result that is a complete document; its bytes are written unchanged, in text mode and in JSON mode."""

    @property
    def pieces(self) -> Iterable[bytes]:
        """The bytes in order, to be read once. Text is UTF-8, and no piece ends inside a character."""
        raise NotImplementedError
