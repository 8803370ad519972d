"""The drawing is checked against git where both lay out columns alike, and by following its lines everywhere else."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections import defaultdict

import pygit2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.ids import Oid
from scopes.render.text.graph import GraphLine, Node, Row, draw

OFF_THE_END = "more history"


def text(row: Row) -> str:
    return "".join(character for character, _ in row)


def picture(nodes, *, ascii_only):
    """The whole drawing as `git log --graph --format=%s` prints it, without spaces at the ends of lines."""
    for line in draw(nodes, ascii_only=ascii_only):
        yield (text(line.commit) + line.oid).rstrip()
        yield from (text(row).rstrip() for row in line.edges)


def history(drawing: str) -> list[Node]:
    """Read `M a b; a r; b r; r` as commits with their parents."""
    words = [entry.split() for entry in drawing.split(";")]
    return [Node(Oid(name), tuple(map(Oid, parents))) for name, *parents in words]


def log_of_git(folder, newest_first: list[Node]) -> tuple[list[str], list[Node]]:
    """Commit a history one second apart; return git's own drawing, and the commits in the order git drew them in."""
    repo = pygit2.init_repository(str(folder), bare=True)
    tree = repo.TreeBuilder().write()
    oids: dict[str, pygit2.Oid] = {}
    for second, node in enumerate(reversed(newest_first)):
        who = pygit2.Signature("a", "a@example.org", second, 0)
        oids[node.oid] = repo.create_commit(None, who, who, node.oid, tree, [oids[parent] for parent in node.parents])
    for tip in set(oids) - {parent for node in newest_first for parent in node.parents}:
        repo.create_reference(f"refs/heads/{tip}", oids[tip])
    command = ["git", "-C", str(folder), "log", "--all", "--topo-order", "--format=%s"]
    drawn = subprocess.run([*command, "--graph"], capture_output=True, text=True, check=True).stdout
    order = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    parents = {node.oid: node.parents for node in newest_first}
    return [line.rstrip() for line in drawn.splitlines()], [Node(Oid(oid), parents[Oid(oid)]) for oid in order]


ALIKE = {
    "one commit": "a",
    "straight": "c b; b a; a",
    "fork": "m3 m2; f2 f1; m2 m1; f1 m1; m1",
    "three branches": "m2 m1; g1 m1; f2 f1; f1 m1; m1",
    "merge": "M a b; b r; a r; r",
    "merge of a branch that was ahead": "M r b; b a; a r; r",
    "two merges side by side": "O N c; c b; b N; N M; M r a; a r; r",
    "criss-cross": "Y y x; X x y; y r; x r; r",
    "octopus of roots": "O a b c d; d; c; b; a",
    "several tips": "t3 r; t2 r; t1 r; r",
}


@pytest.mark.parametrize("drawing", ALIKE.values(), ids=ALIKE.keys())
def test_simple_histories_look_as_git_draws_them(tmp_path, drawing):
    expected, nodes = log_of_git(tmp_path, history(drawing))
    assert list(picture(nodes, ascii_only=True)) == expected


def columns_of_commits(lines: list[str]) -> list[tuple[str, int]]:
    return [(line.split()[-1], line.index("*")) for line in lines if "*" in line]


WIDER = {
    "octopus": "O a b c; c r; b r; a r; r",
    "octopus in the middle": "z O; O a b c d; d r; c r; b r; a r; r",
    "criss-cross, then on": "Z X Y; X2 X; X x y; Y y x; y r; x r; r",
    "merged both ways": "M m F; F f m; m r; f r; r",
}


@pytest.mark.parametrize("drawing", WIDER.values(), ids=WIDER.keys())
def test_commits_are_in_the_columns_of_git(tmp_path, drawing):
    expected, nodes = log_of_git(tmp_path, history(drawing))
    assert columns_of_commits(list(picture(nodes, ascii_only=True))) == columns_of_commits(expected)


BOXES = {
    "m3 m2; f2 f1; m2 m1; f1 m1; m1": "● m3|│ ● f2|● │ m2|│ ● f1|├─╯|● m1",
    "M a b; b r; a r; r": "●   M|├─╮|│ ● b|● │ a|├─╯|● r",
    "O a b c; c r; b r; a r; r": "●     O|├─┬─╮|│ │ ● c|│ ● │ b|│ ├─╯|● │ a|├─╯|● r",
    "Y y x; X x y; y r; x r; r": "●   Y|├─╮|│ │ ● X|│ ├─┤|├─┼─╯|● │ y|│ ● x|├─╯|● r",
}


@pytest.mark.parametrize("drawing", BOXES)
def test_box_characters_join_the_columns(drawing):
    assert list(picture(history(drawing), ascii_only=False)) == BOXES[drawing].split("|")


@pytest.mark.parametrize("ascii_only", [False, True])
def test_a_new_tip_is_never_directly_below_a_root(ascii_only):
    lines = list(draw(history("a; b; c; d e; e"), ascii_only=ascii_only))
    assert [text(line.commit).index("*" if ascii_only else "●") for line in lines] == [0, 2, 0, 2, 2]


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

    def __init__(self, lines: list[GraphLine], bullet: str) -> None:
        self.rows: list[str] = []
        self.commits: dict[Place, str] = {}
        self.commit_column: dict[int, int] = {}  # of the commit that a row belongs to
        for line in lines:
            assert text(line.commit).count(bullet) == 1
            column = text(line.commit).index(bullet) // 2
            self.commits[len(self.rows), column] = line.oid
            for row in (line.commit, *line.edges):
                self.commit_column[len(self.rows)] = column
                self.rows.append(text(row))
        self.rows.append(text(lines[-1].rest))

    def at(self, row: int, place: int) -> str:
        return self.rows[row][place : place + 1] or " "

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


def moves_in_ascii(page: Page) -> dict[Place, set[Place]]:
    """Return where lines lead from each position: down, or along a diagonal that may continue below."""
    moves, went_on = defaultdict(set), set()
    for number, row in enumerate(page.rows):
        for place, character in enumerate(row):
            step = {"\\": 1, "/": -1}.get(character, 0)
            if character in "|*" and place % 2 == 0:
                moves[number, place // 2].add((number + 1, place // 2))
            elif step and (number, place) not in went_on:
                end = place + 2 * step
                while page.at(number, end) == "_":
                    end += 2 * step
                further = page.at(number + 1, end) == character
                went_on |= {(number + 1, end)} if further else set()
                target = (number + 2, (end + step) // 2) if further else (number + 1, (place + step) // 2)
                under_fan = page.at(number - 1, place) == "-" or page.at(number - 1, place - 1) == "."
                source = page.commit_column[number] if under_fan else (place - step) // 2
                moves[number, source].add(target)
    return moves


@given(histories())
def test_every_line_of_boxes_leads_from_a_commit_to_its_parents(nodes):
    page = Page(list(draw(nodes)), "●")
    assert page.edges(moves_in_boxes(page)) == expected_edges(nodes)


@given(histories())
def test_every_line_of_slashes_leads_from_a_commit_to_its_parents(nodes):
    page = Page(list(draw(nodes, ascii_only=True)), "*")
    assert page.edges(moves_in_ascii(page)) == expected_edges(nodes)


@given(histories())
def test_both_alphabets_put_a_commit_into_the_same_column(nodes):
    boxes, slashes = draw(nodes), draw(nodes, ascii_only=True)
    for box, slash in zip(boxes, slashes, strict=True):
        assert text(box.commit).index("●") == text(slash.commit).index("*")
        assert text(box.rest).replace("│", "|") == text(slash.rest)


@given(histories(), st.booleans())
def test_the_rows_of_a_commit_are_equally_wide_and_end_in_a_space(nodes, ascii_only):
    for line in draw(nodes, ascii_only=ascii_only):
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
