"""The View for a terminal: rich wraps, cuts and colors texts, draws tables and renders Markdown.

A terminal that does not write UTF-8 gets signs of ASCII instead of ours.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from markdown_it import MarkdownIt
from rich.ansi import SGR_STYLE_MAP
from rich.color import ColorSystem
from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.segment import Segment
from rich.style import Style as RichStyle
from rich.syntax import ANSISyntaxTheme
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from scopes.render.view import (
    DEFAULT_OPTIONS,
    PALETTE,
    Cell,
    Column,
    Parts,
    Span,
    Style,
    View,
    ViewOptions,
    Write,
    clean_spans,
)
from scopes.sanitize import PRESENTATION, clean

MAX_MARKDOWN_CHARACTERS = 200_000  # a megabyte takes rich seconds
_DEEPEST = 16  # the parser of Markdown drops text at its own limit of 20
_COLUMNS_A_LEVEL = 4  # a quote or list indents by at most this much; rich drops text without any room
_MIN_WIDTH = 20
_GAP = 2
_FRAME = 4  # cells of a box: a border and a blank at either side
STYLES: dict[Style, RichStyle] = {
    name: RichStyle.parse(" ".join(SGR_STYLE_MAP[int(code)] for code in codes.split(";") if code))
    for name, codes in PALETTE.items()
}
_MARKDOWN = Theme(
    {
        "markdown.code": "bold",
        "markdown.block_quote": "dim",
        "markdown.item.bullet": "dim",
        "markdown.item.number": "dim",
        "markdown.link": "underline",
        "markdown.link_url": "underline",
        "markdown.hr": "dim",
        "markdown.h1": "bold underline",
        "markdown.h2": "bold underline",
        "markdown.h3": "bold",
        "markdown.h4": "bold",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)
_CODE = ANSISyntaxTheme(
    {
        ("Comment",): RichStyle(dim=True),
        ("Keyword",): RichStyle(bold=True),
        ("Literal", "String"): RichStyle(color="green"),
        ("Generic", "Inserted"): RichStyle(color="green"),
        ("Generic", "Deleted"): RichStyle(color="red"),
    }
)
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
_PARSER.disable("reference")
_WITHOUT_PRESENTATION = dict.fromkeys(map(ord, f"{PRESENTATION}\u200d"))  # terminals disagree on their widths
_JOINED = "\ue000"  # stands for a blank inside a command, at which a sentence is not broken
_COMMAND = re.compile(  # a command that a sentence tells people to run, up to the mark that ends it
    r"""(?:^|(?<=[:,;·] )|(?<= or )|(?<=\()) *(?P<command>(?:scopes [a-z-]|pip install )"""
    r"""(?:'[^']*'|"[^"]*"|(?! [(·]|[,;](?: |$)|\)).)*[,;)]?)"""
)
_ASCII = str.maketrans(
    dict(zip("❯●■▲·•│─━├┤└╭╮╰╯", ">*#!-*|-=||`++++", strict=True))
    | {"→": "->", "⮡": "->", "←": "<-", "✓": "ok", "✗": "FAIL"}
    | dict.fromkeys("┬┴┼╴╶╵╷", "+")
    | dict.fromkeys("█▉▊▋▌▍▎▏", "#")
)
_CUT = re.compile(r"…((?:\x1b\[[0-9;]*m)*) {0,2}")


class TerminalView(View):
    """Writes tables in columns, wraps or cuts text at the width of a terminal, and renders Markdown."""

    terminal = True

    def __init__(
        self,
        write: Write,
        *,
        width: int,
        color: bool,
        height: int = 24,
        hints: bool = True,
        unicode: bool = True,
        options: ViewOptions = DEFAULT_OPTIONS,
    ) -> None:
        """Write to a terminal of this size; without `unicode` in ASCII."""
        super().__init__(
            write if unicode else lambda text: write(_in_ascii(text)), color=color, hints=hints, options=options
        )
        self.width = width
        self.height = height
        self._console = Console(file=io.StringIO(), width=width, legacy_windows=False, theme=_MARKDOWN, _environ={})
        self._colors = ColorSystem.STANDARD if color else None
        self._points = 0 if unicode else 2  # cells that an ellipsis takes besides its first

    def cut(self, *parts: str | Span, indent: int = 0) -> None:
        """Write one line, cut at its end with an ellipsis if it is too long."""
        text = _text(parts)
        text.truncate(max(self.width - indent - self._points, 1), overflow="ellipsis")
        self._write_text(text, indent)

    def pair(self, left: Parts, right: Parts, *, at: int | None = None, indent: int = 0) -> None:
        """Write one line of two parts, the left one cut so that the right one can be seen."""
        first, last = _text(left), _text(right)
        room = self.width - indent - self._points
        last.truncate(max(room - _MIN_WIDTH, 1), overflow="ellipsis")
        taken = max(last.cell_len, at or 0)
        first.truncate(max(room - taken - 1, 1) if right else room, overflow="ellipsis")
        blanks = 1 if at is None else room - taken - first.cell_len
        self._write_text(Text.assemble(first, " " * blanks if right else "", last), indent)

    def sentence(self, *parts: str | Span, indent: int = 0) -> None:
        """Write one line, wrapped at blanks, with the commands in it whole."""
        text = _text(parts)
        text.plain = _COMMAND.sub(_join_command, text.plain)
        text.overflow = "ignore"
        for row in self._wrap(text, self.width - indent):
            row.plain = row.plain.replace(_JOINED, " ")
            self._write_text(row, indent)

    def hanging(
        self,
        *parts: str | Span,
        start: Parts = (),
        hang: int | None = None,
        indent: int = 0,
        most: int | None = None,
    ) -> None:
        """Write `start` and a text wrapped at blanks, with its further rows indented."""
        first = _text(start)
        hang = first.cell_len if hang is None else hang
        rows = self._wrap(_text(parts), self.width - indent - max(hang, first.cell_len))
        for number, row in enumerate(islice(rows, most)):
            self._write_text(row if number else Text.assemble(first, row), indent + hang if number else indent)

    def paragraph(
        self, text: str, *, start: Parts = (), end: Parts = (), indent: int = 0, style: Style = "", most: int = 1 << 30
    ) -> bool:
        """Write text of several lines behind `start`, with `end` at the right of the first row; see View."""
        first, last = _text(start), _text(end)
        full = max(self.width - indent - first.cell_len, _MIN_WIDTH)
        narrow = max(full - last.cell_len - _GAP, _MIN_WIDTH) if end else full
        lines = clean(text[: full * (most + 1)]).expandtabs(8).strip("\n")
        top, _, below = lines.partition("\n")
        head = next(self._wrap(Text(top), narrow)).plain
        rest = top[len(head) :].lstrip() + ("\n" if top[len(head) :].strip() and below else "") + below
        line = Text.assemble(first, Text(head, STYLES[style]))
        if end:
            line.append(" " * max(self.width - indent - line.cell_len - last.cell_len, _GAP)).append_text(last)
        self._write_text(line, indent)
        rows = list(islice(self._wrap(Text(rest, STYLES[style]), full), most)) if rest else []
        for row in rows[: most - 1]:
            self._write_text(row, indent + first.cell_len)
        return len(rows) < most

    def rows(
        self,
        columns: Sequence[Column],
        rows: Iterable[Sequence[Cell]],
        *,
        title: str | None = None,
        boxed: bool = False,
    ) -> None:
        """Write a table, with `boxed` in a box that has its title in it; all rows are read first."""
        table = Table(box=None, pad_edge=False, padding=(0, _GAP + self._points, 0, 0), header_style="")
        table.expand = any(column.fills for column in columns)
        for column in columns:
            if not column.hidden:
                bends = column.flexible or column.paths or column.fills
                table.add_column(
                    _cell(column.name, "dim", cut=column.flexible), justify=column.align, no_wrap=not bends,
                    ratio=1 if column.fills else None, max_width=column.most,
                )  # fmt: skip
        for row in rows:
            shown = [(cell, column) for cell, column in zip(row, columns, strict=True) if not column.hidden]
            table.add_row(*(_cell(cell, column.style, cut=column.flexible) for cell, column in shown))
        if title is not None and not boxed:
            self.line(Span(title, "heading"))
        if boxed:
            self._write_box(table, _cell(title or "", "heading", cut=True))
        else:
            self._draw(table)

    def _write_box(self, table: Table, title: Text) -> None:
        """Write a table in a box with a title, row by row."""
        options = self._console.options.update(width=max(self.width - _FRAME, _MIN_WIDTH))
        inner = options.max_width if table.expand else self._console.measure(table, options=options).maximum
        inner = max(inner, min(title.cell_len, options.max_width))
        title.truncate(inner, overflow="ellipsis", pad=True)
        rule, side = "─" * (inner + 2), Text("│", STYLES["dim"])
        for text in (Text(f"╭{rule}╮", STYLES["dim"]), Text.assemble(side, " ", title, " ", side)):
            self._write_text(text, 0)
        self._write_text(Text(f"├{rule}┤", STYLES["dim"]), 0)
        edge = self._painted(Text.assemble(side).render(self._console))
        for line in Segment.split_lines(self._console.render(table, options)):
            self._write(f"{edge} {self._painted(Segment.adjust_line_length(line, inner))} {edge}\n")
        self._write_text(Text(f"╰{rule}╯", STYLES["dim"]), 0)

    def aside(self, text: str) -> None:
        """Write the text dimmed, with the commands in it whole."""
        for line in clean(text).removesuffix("\n").split("\n"):
            self.sentence(Span(line.expandtabs(8), "dim"))

    def body(self, text: str, *, indent: int = 0, style: Style = "") -> None:
        """Write text wrapped at blanks, with tabs expanded."""
        if text:
            lines = Text(clean(text).expandtabs(8).removesuffix("\n"), STYLES[style])
            for row in self._wrap(lines, self.width - indent):
                self._write_text(row, indent)

    def markdown(self, text: str, *, indent: int = 0) -> None:
        """Write rendered Markdown; text after the first 200,000 characters is written unrendered.

        HTML, comments and link definitions are shown, not hidden.
        """
        end = len(text) if len(text) <= MAX_MARKDOWN_CHARACTERS else text.rfind("\n", 0, MAX_MARKDOWN_CHARACTERS) + 1
        tokens = _PARSER.parse(clean(text[:end]))
        deepest = min(_DEEPEST, max(self.width - indent, _MIN_WIDTH) // _COLUMNS_A_LEVEL - 2)
        if max((token.level for token in tokens), default=0) > deepest:
            end = 0
        else:
            document = Markdown("", code_theme=_CODE, hyperlinks=False)  # type: ignore[arg-type]  # Syntax takes a theme
            document.parsed = tokens
            self._draw(document, indent=indent)
        self.body(text[end:], indent=indent)

    def _draw(self, drawing: RenderableType, *, indent: int = 0) -> None:
        """Write what rich draws. Texts are cleaned after that, since Markdown decodes entities such as `&#x202e;`."""
        options = self._console.options.update(width=max(self.width - indent, _MIN_WIDTH))
        for line in Segment.split_lines(self._console.render(drawing, options)):
            shown = self._painted(line).rstrip()
            self._write((" " * indent + shown if shown else "") + "\n")

    def drawn(self, draw: Callable[[View], object], *, width: int | None = None) -> list[str]:
        """Return the lines that a function writes to a view like this one, for `put`."""
        pieces: list[str] = []
        view = TerminalView(
            pieces.append, width=width or self.width, height=self.height, color=self._color, hints=self.hints,
            options=self.options,
        )  # fmt: skip
        draw(view)
        return "".join(pieces).split("\n")[:-1]

    def cells(self, *parts: str | Span) -> int:
        """Return how many cells a line takes."""
        return _text(parts).cell_len

    def _wrap(self, text: Text, width: int) -> Iterator[Text]:
        """Yield the rows of a text, broken at blanks, and inside words that are longer than a row."""
        overflow = text.overflow or "fold"
        for line in text.split(allow_blank=True):
            line.overflow = overflow
            for row in line.wrap(self._console, max(width, _MIN_WIDTH)):
                row.rstrip()
                yield row

    def _write_text(self, text: Text, indent: int) -> None:
        shown = self._painted(Text.assemble(text).render(self._console))  # the style of a whole text becomes a span
        self._write((" " * indent + shown if shown else "") + "\n")

    def _painted(self, segments: Iterable[Segment]) -> str:
        """Return safe text with escape sequences for colors, and nothing else that a style may ask for."""
        pieces = []
        for text, style, control in segments:
            if not control:
                shown = clean(text).expandtabs(8)
                pieces.append(style.update_link(None).render(shown, color_system=self._colors) if style else shown)
        return "".join(pieces)


def _join_command(found: re.Match[str]) -> str:
    command = found["command"]
    return found[0].removesuffix(command) + command.replace(" ", _JOINED)


def _text(parts: Parts) -> Text:
    """Return spans as one line of rich."""
    return Text.assemble(*((span.text, STYLES[span.style]) for span in clean_spans(parts)))


def _cell(cell: Cell, style: Style, *, cut: bool) -> Text:
    """Return a cell of a table, which is cut with an ellipsis or else goes on in further rows."""
    spans = clean_spans(cell, style)
    text = Text.assemble(*((span.text.translate(_WITHOUT_PRESENTATION), STYLES[span.style]) for span in spans))
    text.no_wrap, text.overflow = cut, "ellipsis" if cut else "fold"
    return text


def _in_ascii(text: str) -> str:
    """Replace our signs by ASCII; the blanks after an ellipsis make room for its three points."""
    return _CUT.sub(r"...\1", text).translate(_ASCII)
