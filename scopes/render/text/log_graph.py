"""Render `log --graph`: messages with the commit graph to their left."""

from __future__ import annotations

from itertools import groupby, tee
from typing import TYPE_CHECKING

from scopes.render.text.graph import Node, Row, draw
from scopes.render.text.log_entry import entry_lines
from scopes.render.view import Span, View

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scopes.conversation.log import LogEntry
    from scopes.render.color import Style

_LANES: tuple[Style, ...] = ("good", "warn", "human", "agent", "branch")


def write_graph(entries: Iterable[LogEntry], view: View, *, oneline: bool, full: bool = False) -> None:
    """Write messages next to the graph, each as soon as it is read."""
    for_graph, for_text = tee(entries)
    nodes = (Node(entry.head.oid, entry.parents) for entry in for_graph)
    above: Row | None = None
    for picture, entry in zip(draw(nodes), for_text, strict=True):
        if above is not None and not oneline:
            view.line(*_join(above, ()))
        width = view.width - len(picture.commit) if view.terminal else None
        lines = iter(entry_lines(entry, view, width, oneline=oneline, full=full))
        for row in (picture.commit, *picture.edges):
            view.line(*_join(row, next(lines, ())))
        for line in lines:
            view.line(*_join(picture.rest, line))
        above = picture.rest


def _join(row: Row, line: tuple[str | Span, ...]) -> Iterator[str | Span]:
    """Yield a row of the graph and a line of text, without trailing blanks."""
    drawn = "".join(character for character, _ in row)
    end = len(row) if line else len(drawn.rstrip())
    for style, cells in groupby(row[:end], key=lambda cell: _LANES[cell[1] % len(_LANES)]):
        yield Span("".join(character for character, _ in cells), style)
    yield from line
