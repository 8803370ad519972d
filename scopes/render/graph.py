r"""Draw the commit graph of `scopes log --graph`, row by row while commits are read.

    ● │     a merge: its first parent stays in its column,
    ├─┼─╮   its second parent opens a column; a crossed line is unrelated
    │ │ ●   a commit whose parent is next in another column already
    ├─┼─╯   joins that column

A column keeps its position until its line of history ends; then it is reused. Git moves the columns to the right of a
gap instead, with diagonals that box characters cannot draw. Straight, forked and merged histories look as in git; in
wider ones a column may be in another position.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, tee
from typing import TYPE_CHECKING

from scopes.ids import Oid
from scopes.render.log import one_line, piped_graph_line, write_entry
from scopes.render.view import Span, View

if TYPE_CHECKING:
    from scopes.conversation.log import LogEntry
    from scopes.render.view import Style

Cell = tuple[str, int]  # one character and the column whose color it has
Row = tuple[Cell, ...]

_LANES: tuple[Style, ...] = ("good", "warn", "bad", "dim", "")
_JOINTS = " ╵╷│╴╯╮┤╶╰╭├─┴┬┼"  # indexed by the sum of: up 1, down 2, left 4, right 8


@dataclass(frozen=True, slots=True)
class Node:
    """A commit and its parents, first parent first."""

    oid: Oid
    parents: tuple[Oid, ...]


@dataclass(frozen=True, slots=True)
class GraphLine:
    """The graph to the left of one commit's text; all rows are equally wide and end in a space.

    The first line of text goes next to `commit`, the following ones next to `edges`, further ones next to `rest`. Edges
    are drawn even if there is no text left.
    """

    oid: Oid
    commit: Row
    edges: tuple[Row, ...]
    rest: Row


def write_graph(entries: Iterable[LogEntry], view: View) -> None:
    """Write messages next to the graph, each as soon as it is read; in a pipe as one line each."""
    for_graph, for_text = tee(entries)
    nodes = (Node(entry.head.oid, entry.parents) for entry in for_graph)
    in_one_line = view.options.oneline or not view.terminal
    above: Row | None = None
    for picture, entry in zip(draw(nodes), for_text, strict=True):
        if above is not None and not in_one_line:
            view.put("", *_spans(above))

        def write(part: View, entry: LogEntry = entry) -> None:
            if not part.terminal:
                part.line(*piped_graph_line(entry))
            elif in_one_line:
                part.pair(*one_line(entry, part, with_day=True))
            else:
                write_entry(entry, part)

        lines = iter(view.drawn(write, width=view.width - len(picture.commit)))
        for row in (picture.commit, *picture.edges):
            view.put(next(lines, ""), *_spans(row))
        for line in lines:
            view.put(line, *_spans(picture.rest))
        above = picture.rest


def _spans(row: Row) -> Iterator[Span]:
    for style, cells in groupby(row, key=lambda cell: _LANES[cell[1] % len(_LANES)]):
        yield Span("".join(character for character, _ in cells), style)


def draw(newest_first: Iterable[Node]) -> Iterator[GraphLine]:
    """Draw a history with `● │ ├ ╮ ╯ ─`.

    Children must come before their parents. A parent that never comes keeps its column open to the end: history was
    left out. Memory and the time per commit grow with the number of open columns only.
    """
    lanes = _Lanes()
    for node in newest_first:
        column = lanes.column_of(node.oid)
        before = lanes.open_columns()
        steps = tuple(lanes.advance(column, node))
        after = lanes.open_columns()
        width = 1 + max(before.union(after, *(step.after for step in steps)))
        commit = _bars(before, width)
        commit[2 * column] = ("●", column)
        edges = tuple(tuple(_edges(step, width)) for step in steps)
        yield GraphLine(node.oid, tuple(commit), edges, tuple(_bars(after, width)))


@dataclass(frozen=True, slots=True)
class _Step:
    """Edges from one column to others, with the columns that are open above and below them."""

    source: int
    targets: tuple[int, ...]
    before: frozenset[int]
    after: frozenset[int]

    @property
    def span(self) -> tuple[int, int]:
        return min(self.source, *self.targets), max(self.source, *self.targets)


class _Lanes:
    """The next commit of each column."""

    def __init__(self) -> None:
        self._waiting: list[Oid | None] = []
        self._column: dict[Oid, int] = {}
        self._ended: int | None = None

    def open_columns(self) -> frozenset[int]:
        """Return the columns that are in use."""
        return frozenset(self._column.values())

    def column_of(self, oid: Oid) -> int:
        """Return the column of a commit; a new tip is never placed directly below a root, as if it were its parent."""
        column = self._column.get(oid)
        return self._open(oid, first=0, avoid=self._ended) if column is None else column

    def advance(self, column: int, node: Node) -> Iterator[_Step]:
        """Replace a commit by its parents in the columns, and yield the edges to draw.

        An edge from the right joins the column last, or it would seem to lead to the other parents too.
        """
        parents = tuple(dict.fromkeys(node.parents))
        left = [self._column[parent] for parent in parents if self._column.get(parent, column) < column]
        others = [parent for parent in parents if self._column.get(parent, column) >= column]
        self._ended = None if parents else column
        for target in left if others else left[:-1]:
            yield self._step(column, target)
        if others:
            yield from self._connect(column, others[1:])
            yield from self._mark_parent(column, others[0])
        else:
            before = self.open_columns()
            self._close(column)
            if left:
                yield _Step(column, (left[-1],), before, self.open_columns())

    def _connect(self, column: int, parents: list[Oid]) -> Iterator[_Step]:
        """Connect the column with those of further parents; open missing ones, to its right if there is room."""
        joined = [self._column[parent] for parent in parents if parent in self._column]
        before = self.open_columns()
        opened = [self._open(parent, first=column + 1) for parent in parents if parent not in self._column]
        right, left = (tuple(k for k in opened if k > column), [(k,) for k in opened if k < column])
        for targets in ([right] if right else []) + left:
            yield _Step(column, targets, before, before.union(targets))
            before = before.union(targets)
        for target in joined:
            yield self._step(column, target)

    def _mark_parent(self, column: int, parent: Oid) -> Iterator[_Step]:
        """Continue the column with a parent; a column further right with the same next commit is merged into it."""
        before = self.open_columns()
        elsewhere = self._column.get(parent)
        if elsewhere is not None:
            self._close(elsewhere)
        self._close(column)
        self._put(parent, column)
        if elsewhere is not None:
            yield _Step(elsewhere, (column,), before, self.open_columns())

    def _step(self, source: int, target: int) -> _Step:
        columns = self.open_columns()
        return _Step(source, (target,), columns, columns)

    def _open(self, oid: Oid, *, first: int, avoid: int | None = None) -> int:
        size = len(self._waiting)
        places = (*range(first, size), *range(min(first, size)))
        free = (k for k in places if self._waiting[k] is None and k != avoid)
        column = next(free, size + (size == avoid))
        self._put(oid, column)
        return column

    def _put(self, oid: Oid, column: int) -> None:
        self._waiting.extend([None] * (column + 1 - len(self._waiting)))
        self._waiting[column] = oid
        self._column[oid] = column

    def _close(self, column: int) -> None:
        oid, self._waiting[column] = self._waiting[column], None
        if oid is not None:
            del self._column[oid]
        while self._waiting and self._waiting[-1] is None:
            self._waiting.pop()


def _bars(columns: frozenset[int], width: int) -> list[Cell]:
    return [("│" if place % 2 == 0 and place // 2 in columns else " ", place // 2) for place in range(2 * width)]


def _edges(step: _Step, width: int) -> list[Cell]:
    """Draw edges in one row: columns they pass are crossed, columns they start or end in are joined."""
    row = _bars(step.before & step.after, width)
    first, last = step.span
    for k in range(first, last + 1):
        joint = (k in step.before) + 2 * (k in step.after) + 4 * (k > first) + 8 * (k < last)
        row[2 * k] = (_JOINTS[joint], k if joint % 4 else last)
        if k < last:
            row[2 * k + 1] = ("─", last)
    return row
