"""Draw the branches of a conversation as SVG: a track for each, from the message where it begins to its tip.

Positions are shares of the width, so that the picture fits every screen and its text keeps its size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from scopes.conversation.show import BranchRow
from scopes.exporters.html.template import EMPTY, Html, Template, join
from scopes.ids import BranchName
from scopes.result import plural

_MOST: Final = 40  # branches that are drawn
_ROW: Final = 40  # pixels of a branch
_LABEL, _TRACK = 14, 28  # of the row: where the name and the track are
_LEFT, _RIGHT = 2.0, 97.0  # percent of the width
_NARROWEST: Final = 300  # pixels: the width that labels have on a phone
_LETTER: Final = 6.8  # pixels of a character, on average
_LONGEST: Final = 44  # characters of a label


def draw_graph(template: Template, rows: Sequence[BranchRow], anchor_of: Callable[[BranchName], str | None]) -> Html:
    """Return the panel with the branches; empty for one alone. `anchor_of` says where a branch is in the page."""
    if len(rows) < 2:
        return EMPTY
    ordered = _parents_first(rows)[:_MOST]
    places = {row.name: number for number, row in enumerate(ordered)}
    longest = max(1, *(row.total for row in ordered))
    shapes = join([_draw(template, row, places, longest, anchor_of(row.name)) for row in ordered], "\n")
    left_out = len(rows) - len(ordered)
    more = (
        template.fill("graph_more", text=f"and {left_out:,} more {plural(left_out, 'branch')}") if left_out else EMPTY
    )
    height = str(_ROW * len(ordered) + 4)
    return template.fill("graph", count=f"{len(rows):,}", height=height, shapes=shapes, more=more)


def _draw(template: Template, row: BranchRow, places: dict[BranchName, int], longest: int, anchor: str | None) -> Html:
    number = places[row.name]
    start, end = (_LEFT + (_RIGHT - _LEFT) * depth / longest for depth in (row.total - row.messages, row.total))
    y = _ROW * number + _TRACK
    parent = places.get(row.parent, number) if row.parent is not None else number
    words = (f"{row.messages:,} {plural(row.messages, 'message')}", "" if row.status == "active" else row.status)
    about = " · ".join(filter(None, words))
    name = row.name if len(row.name) + len(about) < _LONGEST else f"{row.name[: max(8, _LONGEST - len(about))]}…"
    is_right = _NARROWEST * start / 100 + _LETTER * (len(name) + len(about) + 1) > _NARROWEST
    label = template.fill(
        "graph_label", x="100%" if is_right else f"{start:.2f}%", y=str(_ROW * number + _LABEL), name=name,
        anchor="end" if is_right else "start", about=about,
    )  # fmt: skip
    kinds = [word for word, is_so in (("active", row.active), ("shown", anchor is not None)) if is_so]
    return template.fill(
        "graph_branch",
        kind=" ".join(kinds),
        about=f"{row.name}: {about}" + (f", {row.purpose}" if row.purpose else ""),
        start=f"{start:.2f}",
        end=f"{end:.2f}",
        y=str(y),
        **{"from": str(_ROW * parent + _TRACK)},
        label=label if anchor is None else template.fill("graph_link", anchor=anchor, label=label),
    )


def _parents_first(rows: Sequence[BranchRow]) -> list[BranchRow]:
    """Return the branches with each one below its parent, the longest line of work first."""
    names = {row.name for row in rows}
    children: dict[BranchName | None, list[BranchRow]] = {}
    for row in rows:
        parent = row.parent if row.parent in names and row.parent != row.name else None
        children.setdefault(parent, []).append(row)
    ordered: list[BranchRow] = []
    waiting = children.pop(None, [])[::-1]
    while waiting:
        row = waiting.pop()
        ordered.append(row)
        waiting += children.pop(row.name, [])[::-1]
    placed = {row.name for row in ordered}
    return ordered + [row for row in rows if row.name not in placed]
