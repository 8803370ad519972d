"""The view for a person at a terminal: boxes, colours, text folded to the width, Markdown rendered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scopes.loading import load
from scopes.render.box import draw_box
from scopes.render.colour import Style
from scopes.render.view import Cell, Column, PlainView, Write
from scopes.render.view_options import DEFAULT_OPTIONS, ViewOptions
from scopes.render.wrap import wrap_line
from scopes.sanitize import clean

MAX_MARKDOWN_CHARACTERS = 200_000  # a megabyte takes rich seconds
_NARROWEST = 20


class TerminalView(PlainView):
    """Shows the same as a PlainView, for the eye."""

    terminal = True

    def __init__(
        self, write: Write, *, width: int, colour: bool, hints: bool = True, options: ViewOptions = DEFAULT_OPTIONS
    ) -> None:
        super().__init__(write, colour=colour, hints=hints, options=options)
        self.width = width

    def rows(self, columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, title: str | None = None) -> None:
        """Say a table in a rounded box, which needs all rows first."""
        seen = [column for column in columns if not column.hidden]
        cells = ([c for c, column in zip(row, columns, strict=True) if not column.hidden] for row in rows)
        for line in draw_box(seen, cells, title=title, width=self.width, colour=self._colour):
            self._write(line + "\n")

    def aside(self, text: str) -> None:
        """Say it dimly."""
        self.body(text, style="dim")

    def body(self, text: str, *, indent: int = 0, style: Style = "") -> None:
        """Say text folded at blanks; tabs are expanded."""
        lines = clean(text).expandtabs(8).removesuffix("\n").split("\n") if text else ()
        width = max(self.width - indent, _NARROWEST)
        self._lines((row for line in lines for row in wrap_line(line, width)), indent, style)

    def markdown(self, text: str, *, indent: int = 0) -> None:
        """Say rendered Markdown; what is beyond 200,000 characters follows as it is."""
        end = len(text) if len(text) <= MAX_MARKDOWN_CHARACTERS else text.rfind("\n", 0, MAX_MARKDOWN_CHARACTERS) + 1
        rendered = load("scopes.render.markdown:render_markdown")
        width = max(self.width - indent, _NARROWEST)
        for line in rendered(text[:end], width=width, colour=self._colour):
            self._write((" " * indent + line if line else "") + "\n")
        self.body(text[end:], indent=indent)
