"""The drawing of a graph is checked by following its lines."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.ids import Oid
from scopes.render.graph import GraphLine, Node, Row, draw

OFF_THE_END = "more history"


def text(row: Row) -> str:
    return "".join(character for character, _ in row)


def picture(nodes):
    """The whole drawing with the names of the commits, without spaces at the ends of lines."""
    for line in draw(nodes):
        yield (text(line.commit) + line.oid).rstrip()
        yield from (text(row).rstrip() for row in line.edges)


def history(drawing: str) -> list[Node]:
    """Read `M a b; a r; b r; r` as commits with their parents."""
    words = [entry.split() for entry in drawing.split(";")]
    return [Node(Oid(name), tuple(map(Oid, parents))) for name, *parents in words]


BOXES = {
    "m3 m2; f2 f1; m2 m1; f1 m1; m1": "● m3|│ ● f2|● │ m2|│ ● f1|├─╯|● m1",
    "M a b; b r; a r; r": "●   M|├─╮|│ ● b|● │ a|├─╯|● r",
    "O a b c; c r; b r; a r; r": "●     O|├─┬─╮|│ │ ● c|│ ● │ b|│ ├─╯|● │ a|├─╯|● r",
    "Y y x; X x y; y r; x r; r": "●   Y|├─╮|│ │ ● X|│ ├─┤|├─┼─╯|● │ y|│ ● x|├─╯|● r",
}


@pytest.mark.parametrize("drawing", BOXES)
def test_box_characters_join_the_columns(drawing):
    assert list(picture(history(drawing))) == BOXES[drawing].split("|")


def test_a_new_tip_is_never_directly_below_a_root():
    lines = list(draw(history("a; b; c; d e; e")))
    assert [text(line.commit).index("●") for line in lines] == [0, 2, 0, 2, 2]


def test_a_parent_that_never_comes_keeps_its_column_open():
    *_, last = draw(history("b a; c x; a y"))
    assert text(last.rest) == "│ │ "


def test_no_commits_are_no_lines():
    assert list(draw([])) == []


def test_further_lines_of_text_are_next_to_the_open_columns():
    merge, *_ = draw(history("M a b; b r; a r; r"))
    assert [text(merge.commit), *map(text, merge.edges), text(merge.rest)] == ["●   ", "├─╮ ", "│ │ "]


def test_a_line_takes_the_color_of_the_column_it_leads_to_or_comes_from():
    merge, _, joining, _ = draw(history("M a b; b r; a r; r"))
    assert merge.edges[0] == (("├", 0), ("─", 1), ("╮", 1), (" ", 1))
    assert joining.edges[0] == (("├", 0), ("─", 1), ("╯", 1), (" ", 1))


def test_commits_are_drawn_before_the_next_one_is_asked_for():
    endless = (Node(Oid(str(n)), (Oid(str(n + 1)),)) for n in itertools.count())
    assert [text(line.commit) for line in itertools.islice(draw(endless), 3)] == ["● "] * 3


@st.composite
def histories(draw_from) -> list[Node]:
    """Up to 16 commits, newest first, with up to four parents each; a parent beyond the last commit is missing."""
    offsets = st.lists(st.integers(1, 7), max_size=4, unique=True)
    chosen = draw_from(st.lists(offsets, min_size=1, max_size=16))
    return [Node(Oid(f"c{n}"), tuple(Oid(f"c{n + offset}") for offset in own)) for n, own in enumerate(chosen)]


def expected_edges(nodes: list[Node]) -> dict[str, set[str]]:
    known = {node.oid for node in nodes}
    return {node.oid: {oid if oid in known else OFF_THE_END for oid in node.parents} for node in nodes}


Place = tuple[int, int]  # a row of the drawing and a column
JOINTS = dict(zip(" ╵╷│╴╯╮┤╶╰╭├─┴┬┼●", [*range(16), 3], strict=True))
UP, DOWN = 1, 2


class Page:
    """The rows of a drawing and its commits; the last row has the columns open below the last commit."""

    def __init__(self, lines: list[GraphLine]) -> None:
        self.rows: list[str] = []
        self.commits: dict[Place, str] = {}
        self.commit_column: dict[int, int] = {}  # of the commit that a row belongs to
        for line in lines:
            assert text(line.commit).count("●") == 1
            column = text(line.commit).index("●") // 2
            self.commits[len(self.rows), column] = line.oid
            for row in (line.commit, *line.edges):
                self.commit_column[len(self.rows)] = column
                self.rows.append(text(row))
        self.rows.append(text(lines[-1].rest))

    def edges(self, moves: dict[Place, set[Place]]) -> dict[str, set[str]]:
        """Follow every line down to the commits it leads to, or off the end."""
        found: dict[str, set[str]] = {oid: set() for oid in self.commits.values()}
        for start, oid in self.commits.items():
            ahead = [*moves[start]]
            while ahead:
                place = ahead.pop()
                if place in self.commits:
                    found[oid].add(self.commits[place])
                elif place[0] == len(self.rows):
                    found[oid].add(OFF_THE_END)
                else:
                    ahead += moves[place]
        return found


def moves_in_boxes(page: Page) -> dict[Place, set[Place]]:
    """Return where lines lead from each position: one row down, or across and down."""
    moves = defaultdict(set)
    for number, row in enumerate(page.rows):
        links = [JOINTS[character] for character in row[::2]]
        for column in (k for k, own in enumerate(links) if own & UP and own & DOWN):
            moves[number, column].add((number + 1, column))
        for span in re.finditer("[├╰╭][─┼┬]+[┤╯╮]", row):
            ends = {span.start() // 2, span.end() // 2}
            source = next((k for k in ends if not links[k] & DOWN), page.commit_column[number])
            opened = {k for k in range(min(ends), max(ends)) if row[2 * k] == "┬"}
            moves[number, source] |= {(number + 1, k) for k in (ends | opened) - {source}}
    return moves


@given(histories())
def test_every_line_of_boxes_leads_from_a_commit_to_its_parents(nodes):
    page = Page(list(draw(nodes)))
    assert page.edges(moves_in_boxes(page)) == expected_edges(nodes)


@given(histories())
def test_the_rows_of_a_commit_are_equally_wide_and_end_in_a_space(nodes):
    for line in draw(nodes):
        rows = [line.commit, *line.edges, line.rest]
        assert {len(row) for row in rows} == {len(line.commit)}
        assert {row[-1][0] for row in rows} == {" "}
        assert all(0 <= lane < len(row) / 2 for row in rows for _, lane in row)


@given(histories())
def test_the_drawing_is_no_wider_than_the_lines_that_are_open_at_once(nodes):
    awaited, widest = set(), 1
    for node, line in zip(nodes, draw(nodes), strict=True):
        awaited = (awaited | {node.oid} | set(node.parents)) - {None}
        widest = max(widest, len(awaited))
        awaited -= {node.oid}
        assert len(line.commit) <= 2 * (widest + 1)
