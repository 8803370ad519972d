"""The View for a terminal: boxes, colors, text wrapped to the width, rendered Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scopes.render.box import draw_box
from scopes.render.color import Style
from scopes.render.view import Cell, Column, PlainView, Span, Write, clean_spans, paint_spans
from scopes.render.view_options import DEFAULT_OPTIONS, ViewOptions
from scopes.render.wrap import count_span_cells, wrap_line, wrap_spans
from scopes.sanitize import clean

MAX_MARKDOWN_CHARACTERS = 200_000  # a megabyte takes rich seconds
_MIN_WIDTH = 20


class TerminalView(PlainView):
    """Writes tables as boxes, wraps text and renders Markdown."""

    terminal = True

    def __init__(
        self, write: Write, *, width: int, color: bool, hints: bool = True, options: ViewOptions = DEFAULT_OPTIONS
    ) -> None:
        super().__init__(write, color=color, hints=hints, options=options)
        self.width = width

    def sentence(self, *parts: str | Span, indent: int = 0) -> None:
        """Write one line, wrapped at blanks, with the commands in it whole."""
        for row in wrap_spans(clean_spans(parts), max(self.width - indent, _MIN_WIDTH), commands=True):
            shown = paint_spans(row) if self._color else "".join(span.text for span in row)
            self._write(" " * indent + shown + "\n")

    def hanging(
        self, *parts: str | Span, start: tuple[str | Span, ...] = (), hang: int | None = None, indent: int = 0
    ) -> None:
        """Write `start` and a text wrapped at blanks, with its further rows indented."""
        deeper = count_span_cells(clean_spans(start)) if hang is None else hang
        first, *others = wrap_spans(clean_spans(parts), max(self.width - indent - deeper, _MIN_WIDTH))
        self.line(*start, *first, indent=indent)
        for row in others:
            self.line(*_without_blanks(row), indent=indent + deeper)

    def rows(self, columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, title: str | None = None) -> None:
        """Write a table in a rounded box; all rows are read first."""
        visible = [column for column in columns if not column.hidden]
        cells = ([c for c, column in zip(row, columns, strict=True) if not column.hidden] for row in rows)
        for line in draw_box(visible, cells, title=title, width=self.width, color=self._color):
            self._write(line + "\n")

    def aside(self, text: str) -> None:
        """Write the text dimmed, with the commands in it whole."""
        for line in clean(text).removesuffix("\n").split("\n"):
            self.sentence(Span(line.expandtabs(8), "dim"))

    def body(self, text: str, *, indent: int = 0, style: Style = "") -> None:
        """Write text wrapped at blanks, with tabs expanded."""
        lines = clean(text).expandtabs(8).removesuffix("\n").split("\n") if text else ()
        width = max(self.width - indent, _MIN_WIDTH)
        self._lines((row for line in lines for row in wrap_line(line, width)), indent, style)

    def markdown(self, text: str, *, indent: int = 0) -> None:
        """Write rendered Markdown; text after the first 200,000 characters is written unrendered."""
        end = len(text) if len(text) <= MAX_MARKDOWN_CHARACTERS else text.rfind("\n", 0, MAX_MARKDOWN_CHARACTERS) + 1
        from scopes.render.markdown import render_markdown

        rendered = render_markdown
        width = max(self.width - indent, _MIN_WIDTH)
        for line in rendered(text[:end], width=width, color=self._color):
            self._write((" " * indent + line if line else "") + "\n")
        self.body(text[end:], indent=indent)


def _without_blanks(row: tuple[Span, ...]) -> tuple[Span, ...]:
    """Return a row without blanks at its beginning."""
    return (Span(row[0].text.lstrip(" "), row[0].style), *row[1:]) if row else row
