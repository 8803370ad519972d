"""The View that text renderers write to, and its plain form for pipes: one row per line, without boxes or wrapping.

Renderers pass the meaning of a text (`Style`), not its look. Every method escapes control characters itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from scopes.sanitize import clean, clean_line

Style: TypeAlias = Literal[
    "", "id", "branch", "agent", "human", "time", "dim", "good", "bad", "warn", "heading", "active", "key"
]

# What people wrote is bold, agents are plain, and what is beside the point is dim. The sixteen colors of the terminal
# follow its theme, light or dark; blue is not used, because it is hard to read on black.
PALETTE: dict[Style, str] = {
    "": "",
    "id": "33",
    "branch": "32",
    "agent": "",
    "human": "1",
    "time": "2",
    "dim": "2",
    "good": "32",
    "bad": "1;31",
    "warn": "33",
    "heading": "1",
    "active": "1;32",
    "key": "2",
}


def decide_color(flag: str, environ: Mapping[str, str], *, is_terminal: bool) -> bool:
    """Return True if output is colored.

    The first that applies decides: `--color`, NO_COLOR, CLICOLOR_FORCE or FORCE_COLOR, CLICOLOR=0, a terminal that is
    not dumb.
    """
    if flag in {"always", "never"}:
        return flag == "always"
    if environ.get("NO_COLOR"):
        return False
    if any(environ.get(name, "") not in {"", "0"} for name in ("CLICOLOR_FORCE", "FORCE_COLOR")):
        return True
    return environ.get("CLICOLOR") != "0" and is_terminal and not is_dumb(environ)


def is_dumb(environ: Mapping[str, str]) -> bool:
    """Return True if TERM names no terminal or a dumb one."""
    return environ.get("TERM", "") in {"", "dumb"}


def paint(text: str, style: Style) -> str:
    """Return text with the escape sequences of a style; the text must be safe already."""
    codes = PALETTE[style]
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


class ViewOptions(NamedTuple):
    """The display options of one command. Each is read by the renderers of one verb and ignored by all others."""

    graph: bool = False  # log: draw the branches to the left of the messages
    oneline: bool = False  # log: one line per message
    full: bool = False  # log: fold nothing
    screen: bool = False  # log: only the newest turns that fit a terminal
    signatures: bool = False  # log: a column with the state of each signature; cat: also if there is none
    lines: bool = False  # append --jsonl: no hint after each message
    raw: bool = False  # cat: the stored line of JSON, byte for byte
    stat: bool = False  # diff: counts only
    around: bool = False  # search: a column with the offset of each row from its hit
    show_origin: bool = False  # config list: the level of each value
    details: bool = False  # show: id, session, directory; usage: prices
    layout: str = "markdown"  # context: markdown, messages or json
    explain: bool = False  # context: why each turn and file was kept or dropped
    stats: bool = False  # context: how much of the budget is used
    past: bool = False  # list: the list of an earlier time
    origin: bool = False  # facts show: the cycle that added a fact
    ended: bool = False  # inbox: a column with what the request of a message has ended by
    preview: bool = False  # history: also the size of the block


DEFAULT_OPTIONS = ViewOptions()


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


class View:
    """What a text renderer writes to: here a pipe or a file, where nothing is wrapped or shortened.

    `terminal` is True if a person reads the output, `width` and `height` are its columns and lines, `hints` is True if
    next steps are to be suggested, and `options` are the display options of the command.
    """

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
        """Write one line; line breaks inside it become spaces."""
        self._write(" " * indent + self._cell(parts, "") + "\n")

    def cut(self, *parts: str | Span, indent: int = 0) -> None:
        """Write one line, on a terminal cut at its end with an ellipsis if it is too long."""
        self.line(*parts, indent=indent)

    def pair(self, left: Parts, right: Parts, *, at: int | None = None, indent: int = 0) -> None:  # noqa: ARG002  no edge
        """Write one line of two parts, of which a terminal cuts the left one so that the right one can be seen.

        The right one follows the left one, or begins `at` least that many cells before the right edge.
        """
        self.line(*left, *((" ", *right) if right else ()), indent=indent)

    def sentence(self, *parts: str | Span, indent: int = 0) -> None:
        """Write one line for people to read; a terminal wraps it between words, with the commands in it whole."""
        self.line(*parts, indent=indent)

    def hanging(
        self,
        *parts: str | Span,
        start: Parts = (),
        hang: int | None = None,  # noqa: ARG002  wrapped on a terminal only
        indent: int = 0,
        most: int | None = None,  # noqa: ARG002  as `hang`
    ) -> None:
        """Write `start` and a text in one line; a terminal wraps the text between words.

        Its further rows are indented by `hang` cells more than the line, by default to below the beginning of the text.
        There are at most `most` rows.
        """
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
        """Write text of several lines behind `start`; a terminal shows `end` at the right of the first.

        Return False if it was longer than `most` rows of a terminal, where the rest is left out.
        """
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
        """Write a table, each row as soon as it is produced, with tabs between its cells.

        The header, the title and the box are shown on a terminal only.
        """
        shown = [(place, column.style) for place, column in enumerate(columns) if not column.hidden]
        for row in rows:
            self._write("\t".join([self._cell(row[place], style) for place, style in shown]) + self._end)

    def body(self, text: str, *, indent: int = 0, style: Style = "") -> None:
        """Write text of several lines; empty text writes nothing."""
        self._lines(clean(text).removesuffix("\n").split("\n") if text else (), indent, style)

    def markdown(self, text: str, *, indent: int = 0) -> None:
        """Write Markdown: rendered on a terminal, as its source elsewhere."""
        self.body(text, indent=indent)

    def aside(self, text: str) -> None:
        """Write a remark that is not data: a line on a terminal, elsewhere a note on standard error."""
        if self._write_note is not None:
            self._write_note(text)

    def exact(self, text: str) -> None:
        """Write text without wrapping or shortening it; unless `unchanged`, control characters are escaped."""
        self._write(text if self._unchanged else clean(text))

    def drawn(self, draw: Callable[[View], object], *, width: int | None = None) -> list[str]:  # noqa: ARG002  never wrapped
        """Return the lines that a function writes to a view like this one, for `put`."""
        pieces: list[str] = []
        draw(View(pieces.append, color=self._color, hints=self.hints, options=self.options))
        return "".join(pieces).split("\n")[:-1]

    def put(self, line: str, *before: str | Span) -> None:
        """Write a line that `drawn` has returned behind other text, without blanks at its end."""
        start = self._cell(before, "")
        self._write((start + line if line else start.rstrip()) + "\n")

    def cells(self, *parts: str | Span) -> int:
        """Return how many cells of a terminal a line takes."""
        return len(plain_text(parts))

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
