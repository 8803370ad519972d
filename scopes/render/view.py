"""The View that text renderers write to, and its plain form for pipes: one row per line, without boxes or wrapping.

Renderers pass the meaning of a text (`Style`), not its look. Every method escapes control characters itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from scopes.render.color import Style, paint
from scopes.render.view_options import DEFAULT_OPTIONS, ViewOptions
from scopes.sanitize import clean, clean_line

Write: TypeAlias = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text and its style."""

    text: str
    style: Style = ""


Parts: TypeAlias = tuple[str | Span, ...]
Cell: TypeAlias = str | Span | Parts


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; `hidden` ones are for templates only.

    If a terminal has no room for all, `flexible` cells are cut at their end, and `paths` go on in further rows. What
    `fills` takes the room that is left. `most` is the number of cells that a column takes at most.
    """

    name: str
    style: Style = ""
    align: Literal["left", "right"] = "left"
    flexible: bool = False
    hidden: bool = False
    paths: bool = False
    fills: bool = False
    most: int | None = None

    @property
    def field(self) -> str:
        """The name of the column in a template: `Last activity` is `{last_activity}`."""
        return self.name.lower().replace(" ", "_")


class View(Protocol):
    """What a text renderer writes to.

    `terminal` is True if a person reads the output, `width` and `height` are its columns and lines, `hints` is True if
    next steps are to be suggested, and `options` are the display options of the command.
    """

    terminal: bool
    width: int
    height: int
    hints: bool
    options: ViewOptions

    def line(self, *parts: str | Span, indent: int = 0) -> None:
        """Write one line; line breaks inside it become spaces."""

    def cut(self, *parts: str | Span, indent: int = 0) -> None:
        """Write one line, on a terminal cut at its end with an ellipsis if it is too long."""

    def pair(self, left: Parts, right: Parts, *, at: int | None = None, indent: int = 0) -> None:
        """Write one line of two parts, of which a terminal cuts the left one so that the right one can be seen.

        The right one follows the left one, or begins `at` least that many cells before the right edge.
        """

    def sentence(self, *parts: str | Span, indent: int = 0) -> None:
        """Write one line for people to read; a terminal wraps it between words."""

    def hanging(
        self,
        *parts: str | Span,
        start: Parts = (),
        hang: int | None = None,
        indent: int = 0,
        most: int | None = None,
    ) -> None:
        """Write `start` and a text in one line; a terminal wraps the text between words.

        Its further rows are indented by `hang` cells more than the line, by default to below the beginning of the text.
        There are at most `most` rows.
        """

    def paragraph(
        self, text: str, *, start: Parts = (), end: Parts = (), indent: int = 0, style: Style = "", most: int = 1 << 30
    ) -> bool:
        """Write text of several lines behind `start`; a terminal shows `end` at the right of the first.

        Return False if it was longer than `most` rows of a terminal, where the rest is left out.
        """

    def rows(
        self,
        columns: Sequence[Column],
        rows: Iterable[Sequence[Cell]],
        *,
        title: str | None = None,
        boxed: bool = False,
    ) -> None:
        """Write a table; the header, the title and the box are shown on a terminal only."""

    def body(self, text: str, *, indent: int = 0, style: Style = "") -> None:
        """Write text of several lines; empty text writes nothing."""

    def markdown(self, text: str, *, indent: int = 0) -> None:
        """Write Markdown: rendered on a terminal, as its source elsewhere."""

    def aside(self, text: str) -> None:
        """Write a remark that is not data: a line on a terminal, elsewhere a note on standard error."""

    def exact(self, text: str) -> None:
        """Write text without wrapping or shortening it; unchanged if the output is not a terminal."""

    def drawn(self, draw: Callable[[View], object], *, width: int | None = None) -> list[str]:
        """Return the lines that a function writes to a view like this one, for `put`."""

    def put(self, line: str, *before: str | Span) -> None:
        """Write a line that `drawn` has returned, behind other text."""

    def cells(self, *parts: str | Span) -> int:
        """Return how many cells of a terminal a line takes."""

    def draw(self, drawing: Any) -> None:
        """Write what rich draws, such as a table, as wide as the terminal; its texts must be safe already."""


class PlainView:
    """A view for pipes and files: cells separated by tabs, nothing wrapped, nothing shortened."""

    terminal = False
    width = 80
    height = 24

    def __init__(
        self,
        write: Write,
        *,
        color: bool = False,
        end: str = "\n",
        hints: bool = True,
        unchanged: bool = False,
        write_note: Write | None = None,
        options: ViewOptions = DEFAULT_OPTIONS,
    ) -> None:
        """Write data with `write` and remarks with `write_note`.

        `end` ends each row. With `unchanged`, `exact` does not escape control characters.
        """
        self.hints = hints
        self.options = options
        self._write = write
        self._write_note = write_note
        self._color = color
        self._end = end
        self._unchanged = unchanged

    def line(self, *parts: str | Span, indent: int = 0) -> None:
        """Write one line."""
        self._write(" " * indent + self._cell(parts, "") + "\n")

    def cut(self, *parts: str | Span, indent: int = 0) -> None:
        """Write one line."""
        self.line(*parts, indent=indent)

    def pair(self, left: Parts, right: Parts, *, at: int | None = None, indent: int = 0) -> None:  # noqa: ARG002  no edge
        """Write one line."""
        self.line(*left, *((" ", *right) if right else ()), indent=indent)

    def sentence(self, *parts: str | Span, indent: int = 0) -> None:
        """Write one line."""
        self.line(*parts, indent=indent)

    def hanging(
        self,
        *parts: str | Span,
        start: Parts = (),
        hang: int | None = None,  # noqa: ARG002  wrapped on a terminal only
        indent: int = 0,
        most: int | None = None,  # noqa: ARG002  as `hang`
    ) -> None:
        """Write one line."""
        self.line(*start, *parts, indent=indent)

    def paragraph(
        self,
        text: str,
        *,
        start: Parts = (),
        end: Parts = (),
        indent: int = 0,
        style: Style = "",
        most: int = 1 << 30,  # noqa: ARG002  all of it
    ) -> bool:
        """Write the first line behind `start`, and the others below it."""
        first, _, others = text.removesuffix("\n").partition("\n")
        self.line(*start, Span(first, style), *(("  ", *end) if end else ()), indent=indent)
        self.body(others, indent=indent, style=style)
        return True

    def rows(
        self,
        columns: Sequence[Column],
        rows: Iterable[Sequence[Cell]],
        *,
        title: str | None = None,  # noqa: ARG002  seen on a terminal only
        boxed: bool = False,  # noqa: ARG002  as the title
    ) -> None:
        """Write each row as soon as it is produced."""
        for row in rows:
            cells = zip(row, columns, strict=True)
            shown = [self._cell(cell, column.style) for cell, column in cells if not column.hidden]
            self._write("\t".join(shown) + self._end)

    def body(self, text: str, *, indent: int = 0, style: Style = "") -> None:
        """Write every line without wrapping it."""
        self._lines(clean(text).removesuffix("\n").split("\n") if text else (), indent, style)

    def markdown(self, text: str, *, indent: int = 0) -> None:
        """Write the source text."""
        self.body(text, indent=indent)

    def aside(self, text: str) -> None:
        """Write the text as a note."""
        if self._write_note is not None:
            self._write_note(text)

    def exact(self, text: str) -> None:
        """Write the text, with control characters escaped unless the view is `unchanged`."""
        self._write(text if self._unchanged else clean(text))

    def drawn(self, draw: Callable[[View], object], *, width: int | None = None) -> list[str]:  # noqa: ARG002  never wrapped
        """Return the lines that a function writes."""
        pieces: list[str] = []
        draw(PlainView(pieces.append, color=self._color, hints=self.hints, options=self.options))
        return "".join(pieces).split("\n")[:-1]

    def put(self, line: str, *before: str | Span) -> None:
        """Write a line behind other text, without blanks at its end."""
        start = self._cell(before, "")
        self._write((start + line if line else start.rstrip()) + "\n")

    def cells(self, *parts: str | Span) -> int:
        """Return the number of characters."""
        return len(plain_text(parts))

    def draw(self, drawing: Any) -> None:  # noqa: ARG002  there are rows instead
        """Refuse: only a terminal shows drawings."""
        raise TypeError("a pipe has rows, and no drawings")

    def _lines(self, clean_lines: Iterable[str], indent: int, style: Style) -> None:
        for line in clean_lines:
            shown = paint(line, style) if self._color else line
            self._write((" " * indent + shown if line else "") + "\n")

    def _cell(self, cell: Cell, style: Style) -> str:
        return paint_spans(clean_spans(cell, style)) if self._color else plain_text(cell)


def clean_spans(cell: Cell, style: Style = "") -> tuple[Span, ...]:
    """Return the spans of a cell, each one line of safe text; `style` is for those without a style."""
    parts = cell if isinstance(cell, tuple) else (cell,)
    return tuple(
        Span(clean_line(part.text), part.style or style) if isinstance(part, Span) else Span(clean_line(part), style)
        for part in parts
    )


def plain_text(cell: Cell) -> str:
    """Return a cell as one line of safe text without styles."""
    if isinstance(cell, str):
        return clean_line(cell)
    parts = cell if isinstance(cell, tuple) else (cell,)
    return "".join(clean_line(part.text if isinstance(part, Span) else part) for part in parts)


def paint_spans(spans: Iterable[Span]) -> str:
    """Return the text of spans with escape sequences for their styles; their text must be safe already."""
    return "".join([paint(span.text, span.style) for span in spans])
