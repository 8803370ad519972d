"""The View that text renderers write to, and its plain form for pipes: one row per line, without boxes or wrapping.

Renderers pass the meaning of a text (`Style`), not its look. Every method escapes control characters itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from io import StringIO
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


Cell: TypeAlias = str | Span | tuple[str | Span, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; flexible ones are shortened first, hidden ones are for templates only.

    The cells of a column of paths are shortened at their start.
    """

    name: str
    style: Style = ""
    align: Literal["left", "right"] = "left"
    flexible: bool = False
    hidden: bool = False
    paths: bool = False

    @property
    def field(self) -> str:
        """The name of the column in a template: `Last activity` is `{last_activity}`."""
        return self.name.lower().replace(" ", "_")


class View(Protocol):
    """What a text renderer writes to.

    `terminal` is True if a person reads the output, `width` is its number of columns, `hints` is True if next steps are
    to be suggested, and `options` are the display options of the command.
    """

    terminal: bool
    width: int
    hints: bool
    options: ViewOptions

    def line(self, *parts: str | Span, indent: int = 0) -> None:
        """Write one line; line breaks inside it become spaces."""

    def sentence(self, *parts: str | Span, indent: int = 0) -> None:
        """Write one line for people to read; a terminal wraps it between words."""

    def hanging(
        self, *parts: str | Span, start: tuple[str | Span, ...] = (), hang: int | None = None, indent: int = 0
    ) -> None:
        """Write `start` and a text in one line; a terminal wraps the text between words.

        Its further rows are indented by `hang` cells more than the line, by default to below the beginning of the text.
        """

    def rows(self, columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, title: str | None = None) -> None:
        """Write a table; the header and the title are shown on a terminal only."""

    def body(self, text: str, *, indent: int = 0, style: Style = "") -> None:
        """Write text of several lines; empty text writes nothing."""

    def markdown(self, text: str, *, indent: int = 0) -> None:
        """Write Markdown: rendered on a terminal, as its source elsewhere."""

    def aside(self, text: str) -> None:
        """Write a remark that is not data: a line on a terminal, elsewhere a note on standard error."""

    def exact(self, text: str) -> None:
        """Write text without wrapping or shortening it; unchanged if the output is not a terminal."""

    def draw(self, drawing: Any) -> None:
        """Write what rich draws, such as a table, as wide as the terminal; its texts must be safe already."""


class PlainView:
    """A view for pipes and files: cells separated by tabs, nothing wrapped, nothing shortened."""

    terminal = False
    width = 80

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

    def sentence(self, *parts: str | Span, indent: int = 0) -> None:
        """Write one line."""
        self.line(*parts, indent=indent)

    def hanging(
        self,
        *parts: str | Span,
        start: tuple[str | Span, ...] = (),
        hang: int | None = None,  # noqa: ARG002  wrapped on a terminal only
        indent: int = 0,
    ) -> None:
        """Write one line."""
        self.line(*start, *parts, indent=indent)

    def rows(self, columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, title: str | None = None) -> None:  # noqa: ARG002  seen on a terminal only
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

    def draw(self, drawing: Any) -> None:
        """Write a drawing of rich; its texts must be safe already."""
        from rich.console import Console

        file = StringIO()
        console = Console(
            file=file, width=self.width, force_terminal=self._color, legacy_windows=False, _environ={}, highlight=False,
            color_system="standard" if self._color else None,
        )  # fmt: skip
        console.print(drawing, markup=False, emoji=False)
        for line in file.getvalue().splitlines():
            self._write(line.rstrip() + "\n")

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
