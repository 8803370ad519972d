"""Result, the base class of what operations return, and Note, a warning in a result.

A Result describes itself: `kind`, `rows_in` and `columns` of its class say what its JSON, its rows in a pipe, the names
of `--fields` and its table on a terminal are. The keys of the JSON are the names of the fields of the class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias, TypeVar

_MAX_NAMED = 16
_SHORT_ID = 8
_BANDS = ((0.2, "Very Low"), (0.4, "Low"), (0.6, "Medium"), (0.8, "High"))
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
Function = TypeVar("Function", bound=Callable[..., Any])

# A text that is one line, whatever it quotes; or several such lines.
Lines: TypeAlias = str | Sequence[str]

# How the value of a column is written.
Form: TypeAlias = Literal[
    "text",  # as it is, on a terminal cut at the width of the column; lists with commas, yes or no, objects as JSON
    "prose",  # whole: on a terminal wrapped in its column
    "below",  # whole: on a terminal a line below the table, behind the first column; commands in it are not broken
    "id",  # its beginning on a terminal
    "branch",
    "agent",
    "time",  # relative to now on a terminal
    "count",  # with commas on a terminal
    "size",  # bytes, on a terminal as 1.5 MiB
    "money",  # US dollars
    "share",  # a number from 0 to 1, on a terminal as 75%
    "state",  # a word, on a terminal in the color of what it says
    "json",
    "path",  # on a terminal below ~, whole: on several lines if there is no room
    "body",  # of a result without rows: a text apart, below the others
    "lines",  # of a result without rows: a list, one item a line, below the others
]

# For `dataclasses.field(metadata=...)`: how the JSON has a field. Two of them are joined with `|`.
INLINE: Final[dict[str, Any]] = {"inline": True}  # the keys of its object stand in its place
HIDDEN: Final[dict[str, Any]] = {"hidden": True}  # not at all
OMIT_EMPTY: Final[dict[str, Any]] = {"omit_empty": True}  # not if it is empty, 0 or False
NULL: Final[dict[str, Any]] = {"null": True}  # as null if it is None; other fields are left out then


def named(key: str) -> dict[str, Any]:
    """Return metadata of a field whose key in the JSON has another name: a word of Python, or a name that is taken."""
    return {"key": key}


def spread(**attributes: str) -> dict[str, Any]:
    """Return metadata of a field that becomes several keys, each of them an attribute of its value."""
    return {"spread": attributes}


def written_by(make: Callable[[Any], object]) -> dict[str, Any]:
    """Return metadata of a field whose JSON value a function makes."""
    return {"make": make}


def shown(function: Function) -> Function:
    """Mark the function of a property whose value is a key of the JSON too; to be written below `@property`."""
    function.is_shown = True  # type: ignore[attr-defined]
    return function


def short_id(name: str) -> str:
    """Return the beginning of an id, as people see it; what follows a dot is whole, as in `k3x9abcd.2`."""
    first, dot, rest = name.partition(".")
    return f"{first[:_SHORT_ID]}{dot}{rest}"


def plural(number: int, noun: str) -> str:
    """Return the noun for a number: `message` for 1, otherwise `messages`, `branches`."""
    return noun if number == 1 else noun + ("es" if noun.endswith("ch") else "s")


def counted(number: int, one: str) -> str:
    """Return `1 message`, `2 messages`, `2 branches`."""
    return f"{number:,} {plural(number, one)}"


def confidence(value: float) -> str:
    """Return a confidence as a word and the number: `High (0.75)`; each word starts at its lower bound."""
    word = next((word for bound, word in _BANDS if value < bound), "Very High")
    return f"{word} ({value:g})"


def format_size(count_bytes: int) -> str:
    """Return a number of bytes as `512 B` or `1.5 MiB`."""
    amount, unit = float(count_bytes), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.1f} {_UNITS[unit]}" if unit else f"{count_bytes} B"


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


class Column(NamedTuple):
    """A column of the rows of a result, or one line of a result without rows.

    Attributes:
        path: A dotted path in a row of the JSON; or an attribute of the object of a row that its JSON does not have.
        title: The heading on a terminal and, in lower case, the name in a template; by default the last word of the
            path.
        form: How the value is written.
        on: Where it is seen; by default on a terminal and in a pipe. Those for `template` are seen nowhere else.
        option: The display option without which it is not seen.
    """

    path: str
    title: str = ""
    form: Form = "text"
    on: Literal["", "pipe", "terminal", "template"] = ""
    option: str = ""

    @property
    def heading(self) -> str:
        """What stands above the column on a terminal, and before the value in a result without rows."""
        return self.title or self.path.rpartition(".")[2].replace("_", " ").capitalize()


class Rows(NamedTuple):
    """One more table of a result: the key with its rows, or an attribute that the JSON does not have."""

    rows_in: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Base class of all results. What a subclass says about itself is not annotated, so that it is no field.

    Attributes:
        rows_in: The key with the rows, or an attribute that the JSON does not have; without one the result is the row.
        rows_seen: The same for a person, who sees other rows than a pipe has.
        is_one_row: `--fields` and `--format` select in the result itself, not in the rows.
        columns: The columns of the rows, or the lines of a result without rows.
        further: Tables below the rows.
        can_undo: The operation of the result, if it has one, can be undone.
        empty: What a person reads instead of a table without rows.
    """

    rows_in: ClassVar[str] = ""
    rows_seen: ClassVar[str] = ""
    is_one_row: ClassVar[bool] = False
    columns: ClassVar[tuple[Column, ...]] = ()
    further: ClassVar[tuple[Rows, ...]] = ()
    empty: ClassVar[str] = ""
    can_undo: ClassVar[bool] = True

    notes: tuple[Note, ...] = field(default=())

    @property
    def kind(self) -> str:
        """The kind of the JSON document: the name of the class in lower case, with hyphens between its words."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(self).__name__).lower()

    @property
    def sentence(self) -> Lines:
        """What has happened, as the line that a person reads, below the rows if there are any; empty: no such line."""
        return ""

    @property
    def answer(self) -> str:
        """What a pipe gets instead of rows or columns, as a rule an id; without them and a sentence, the whole text."""
        return ""

    @property
    def figures(self) -> Mapping[str, object]:
        """What a pipe gets instead of lines: a name and a value in each row; nested names as `tokens.output`.

        A list has a row for each of its values.
        """
        return {}

    @property
    def remark(self) -> Lines:
        """What a pipe is told beside the answer, as a note: what else is in the sentence that scripts get by --json."""
        return ""

    @property
    def next_step(self) -> Lines:
        """What a person may do next: lines, each with a whole command line. How to undo is said anyway."""
        return ""

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
