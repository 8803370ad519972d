"""Render the rows of a range-diff as git does: `1:  3f2a6c1e ! 2:  9b7d0e4f subject`, changed lines below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.history.messages import shown_author
from scopes.render.text.phrases import SHORT_ID_LENGTH, author, identifier
from scopes.render.view import Cell, Column, Span, View
from scopes.sanitize import mark_cut

if TYPE_CHECKING:
    from scopes.conversation.diff import NumberedMessage, RangeDifference, RangePair
    from scopes.render.color import Style

_COLUMNS = (
    Column("Old number"), Column("Old commit"), Column("Mark"), Column("New number"), Column("New commit"),
    Column("Author"), Column("Text"),
)  # fmt: skip
_STYLES: dict[str, Style] = {"=": "dim", "!": "warn", "<": "bad", ">": "good", "-": "bad", "+": "good", "@": "dim"}
_INDENT = 4


def render_range_difference(result: RangeDifference, view: View) -> None:
    """Write one row per message; the changed lines of a message are indented below its row."""
    if view.terminal and not result.pairs:
        view.line("Neither range has a message of its own.")
    width = len(str(max(result.old.messages, result.new.messages)))
    for pair in result.pairs:
        if view.terminal:
            _write_line(view, pair, width)
        else:
            view.rows(_COLUMNS, [_cells(view, pair)])
        for line in pair.lines:
            view.body(line, indent=_INDENT, style=_STYLES.get(line[:1], ""))


def _write_line(view: View, pair: RangePair, width: int) -> None:
    shown = pair.new or pair.old
    if shown is None:
        return
    who = author(shown.head.author, shown.head.author_kind)
    mark = Span(pair.mark, _STYLES[pair.mark])
    places = *_place(view, pair.old, width), " ", mark, " ", *_place(view, pair.new, width)
    view.cut(*places, " ", who, ": ", mark_cut(shown.subject))


def _place(view: View, message: NumberedMessage | None, width: int) -> tuple[str | Span, ...]:
    if message is None:
        return f"{'-':>{width}}:  ", Span("-" * SHORT_ID_LENGTH, "dim")
    return f"{message.number:>{width}}:  ", identifier(view, message.head.oid)


def _cells(view: View, pair: RangePair) -> tuple[Cell, ...]:
    shown = pair.new or pair.old
    who, text = ("", "") if shown is None else (shown_author(shown.head), shown.subject)
    return *_place_cells(view, pair.old), pair.mark, *_place_cells(view, pair.new), who, text


def _place_cells(view: View, message: NumberedMessage | None) -> tuple[Cell, Cell]:
    return ("-", "-") if message is None else (str(message.number), identifier(view, message.head.oid))
