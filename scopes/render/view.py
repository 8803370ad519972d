"""What a text rendering may say, and how it looks where nobody looks: plain, one row a line, without a box or colour.

A renderer states what the parts of its text mean and never how they look. Every method makes foreign text safe itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from scopes.render.colour import Style, paint
from scopes.render.view_options import DEFAULT_OPTIONS, ViewOptions
from scopes.sanitize import clean, clean_line

Write: TypeAlias = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text and what it stands for."""

    text: str
    style: Style = ""


Cell: TypeAlias = str | Span | tuple[str | Span, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of rows; on a narrow terminal the flexible ones are shortened first, hidden ones are for templates."""

    name: str
    style: Style = ""
    align: Literal["left", "right"] = "left"
    flexible: bool = False
    hidden: bool = False

    @property
    def field(self) -> str:
        """The name of the column in a template: `Last activity` is `{last_activity}`."""
        return self.name.lower().replace(" ", "_")


class View(Protocol):
    """Where a text rendering goes; `width` counts its columns.

    `terminal` tells whether a person looks at it, `hints` whether they want to hear about next steps, `options` are the
    display options of the command.
    """

    terminal: bool
    width: int
    hints: bool
    options: ViewOptions

    def line(self, *parts: str | Span, indent: int = 0) -> None:
        """Say one line; line breaks inside it become spaces."""

    def rows(self, columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, title: str | None = None) -> None:
        """Say a table; header and title are seen on a terminal only."""

    def body(self, text: str, *, indent: int = 0, style: Style = "") -> None:
        """Say text of several lines; empty text says nothing."""

    def markdown(self, text: str, *, indent: int = 0) -> None:
        """Say text that is marked up; its markup is shown where it cannot be rendered."""

    def aside(self, text: str) -> None:
        """Say what is not data: a line for a person, elsewhere a note beside the rows."""

    def exact(self, text: str) -> None:
        """Say text that must not be folded or shortened; what is no terminal gets it unchanged."""


class PlainView:
    """For pipes and files: rows as cells between tabs, nothing wrapped, nothing shortened."""

    terminal = False
    width = 80

    def __init__(
        self,
        write: Write,
        *,
        colour: bool = False,
        end: str = "\n",
        hints: bool = True,
        unchanged: bool = False,
        beside: Write | None = None,
        options: ViewOptions = DEFAULT_OPTIONS,
    ) -> None:
        """Write through `write`, and what is no data through `beside`, if anywhere.

        `end` ends a row, `unchanged` lets `exact` pass what would act on a terminal.
        """
        self.hints = hints
        self.options = options
        self._write = write
        self._beside = beside
        self._colour = colour
        self._end = end
        self._unchanged = unchanged

    def line(self, *parts: str | Span, indent: int = 0) -> None:
        """Say one line."""
        self._write(" " * indent + self._cell(parts, "") + "\n")

    def rows(self, columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, title: str | None = None) -> None:  # noqa: ARG002  seen on a terminal only
        """Say each row as soon as it comes."""
        for row in rows:
            cells = zip(row, columns, strict=True)
            shown = [self._cell(cell, column.style) for cell, column in cells if not column.hidden]
            self._write("\t".join(shown) + self._end)

    def body(self, text: str, *, indent: int = 0, style: Style = "") -> None:
        """Say every line as it is."""
        self._lines(clean(text).removesuffix("\n").split("\n") if text else (), indent, style)

    def markdown(self, text: str, *, indent: int = 0) -> None:
        """Say the text with its markup."""
        self.body(text, indent=indent)

    def aside(self, text: str) -> None:
        """Hand the text over as a note."""
        if self._beside is not None:
            self._beside(text)

    def exact(self, text: str) -> None:
        """Say the text as it is, made safe unless this goes where nothing can act on it."""
        self._write(text if self._unchanged else clean(text))

    def _lines(self, clean_lines: Iterable[str], indent: int, style: Style) -> None:
        for line in clean_lines:
            shown = paint(line, style) if self._colour else line
            self._write((" " * indent + shown if line else "") + "\n")

    def _cell(self, cell: Cell, style: Style) -> str:
        return paint_spans(clean_spans(cell, style)) if self._colour else plain_text(cell)


def clean_spans(cell: Cell, style: Style = "") -> tuple[Span, ...]:
    """Split a cell into its spans, each one line of safe text, in the given style where they have none."""
    parts = cell if isinstance(cell, tuple) else (cell,)
    return tuple(
        Span(clean_line(part.text), part.style or style) if isinstance(part, Span) else Span(clean_line(part), style)
        for part in parts
    )


def plain_text(cell: Cell) -> str:
    """Return a cell as one line of safe text without its styles."""
    if isinstance(cell, str):
        return clean_line(cell)
    parts = cell if isinstance(cell, tuple) else (cell,)
    return "".join(clean_line(part.text if isinstance(part, Span) else part) for part in parts)


def paint_spans(spans: Iterable[Span]) -> str:
    """Put each span's style around its text, which is clean already."""
    return "".join([paint(span.text, span.style) for span in spans])
