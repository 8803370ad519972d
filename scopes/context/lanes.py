"""Write the marks of merged branches between the turns of a context or a block of history.

A lane without turns has no marks. Those of a lane are as much a part of the text as its turns: they are counted, and
dropped together with the last of its turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from scopes.context.truncate import Count
from scopes.context.turns import Turn
from scopes.sanitize import line_for_prompt

if TYPE_CHECKING:
    from scopes.merge.lanes import LaneMark

_MAX_MARK_SHARE, _MAX_DIGEST_SHARE = 25, 10  # hundredths of the room, for one lane


class LaneTexts(NamedTuple):
    """The texts before and after the turns of a lane, each with a blank line at its end."""

    begin: str
    end: str


@dataclass(frozen=True, slots=True)
class FittedLaneTexts:
    """The texts of the lanes that have room, and their tokens, by number of the lane."""

    texts: Mapping[int, LaneTexts]
    tokens: Mapping[int, int]

    def between(self, turns: Iterable[tuple[Turn, str]]) -> Iterator[str]:
        """Yield the texts of turns, in their order, with the marks of their lanes between them."""
        current: tuple[int, ...] = ()
        for turn, text in turns:
            yield from self._change(current, turn.lanes)
            yield text
            current = turn.lanes
        yield from self._change(current, ())

    def _change(self, before: Sequence[int], after: Sequence[int]) -> Iterator[str]:
        if not (before or after):
            return
        from scopes.merge.lanes import lane_changes

        left, entered = lane_changes(before, after)
        yield from (self.texts[lane].end for lane in left if lane in self.texts)
        yield from (self.texts[lane].begin for lane in entered if lane in self.texts)


def heading_marks(lanes: Mapping[int, LaneMark], room: int, count: Count) -> FittedLaneTexts:
    """Return the marks of a context, as headings, as far as they are small compared to the room."""
    return _fit({number: _as_headings(mark) for number, mark in lanes.items()}, room, count)


def bracket_marks(lanes: Mapping[int, LaneMark], room: int, count: Count) -> FittedLaneTexts:
    """Return the marks of a block of history, in brackets, as far as they are small compared to the room."""
    return _fit({number: _in_brackets(mark) for number, mark in lanes.items()}, room, count)


def _as_headings(mark: LaneMark) -> tuple[LaneTexts, str]:
    digest = "".join(f"- {line_for_prompt(line)}\n" for line in mark.digest)
    texts = LaneTexts(f"## {_capital(mark.begin())}\n\n", f"## {_capital(mark.end())}\n\n")
    return texts, f"{digest}\n" if digest else ""


def _in_brackets(mark: LaneMark) -> tuple[LaneTexts, str]:
    digest = "".join(f"[{line_for_prompt(line)}]\n" for line in mark.digest)
    texts = LaneTexts(f"[{line_for_prompt(mark.begin())}]\n\n", f"[{line_for_prompt(mark.end())}]\n\n")
    return texts, f"{digest}\n" if digest else ""


def _capital(text: str) -> str:
    line = line_for_prompt(text)
    return line[:1].upper() + line[1:]


def _fit(marks: Mapping[int, tuple[LaneTexts, str]], room: int, count: Count) -> FittedLaneTexts:
    """Leave out digests, and then whole marks, that would take too large a share of the room."""
    texts: dict[int, LaneTexts] = {}
    tokens: dict[int, int] = {}
    for number, (plain, digest) in marks.items():
        cost = count(plain.begin) + count(plain.end)
        if cost * 100 > room * _MAX_MARK_SHARE:
            continue
        texts[number], tokens[number] = plain, cost
        extra = count(digest) if digest else 0
        if extra and extra * 100 <= room * _MAX_DIGEST_SHARE:
            texts[number] = plain._replace(end=plain.end + digest)
            tokens[number] = count(plain.begin) + count(texts[number].end)
    return FittedLaneTexts(texts, tokens)
