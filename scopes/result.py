"""What every operation returns: a frozen Result, with the notes that a person should see beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple


class Note(NamedTuple):
    """Something worth saying that is no failure; `hint` says what to do about it."""

    text: str
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Base of every outcome; each subclass has one text and one wire rendering."""

    notes: tuple[Note, ...] = field(default=())

    @property
    def exit_code(self) -> int:
        """What the process ends with once the result has been shown."""
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream(Result):
    """An outcome that comes item by item: one JSON line each for machines, one view of all of them for people."""

    items: Iterable[Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document(Result):
    """An outcome that is a document in a form of its own: its bytes go out as they are, for people and machines."""

    @property
    def pieces(self) -> Iterable[bytes]:
        """The bytes in order, to be read once; a document in text is UTF-8, and no piece ends inside a character."""
        raise NotImplementedError
