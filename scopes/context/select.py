"""Choosing turns for a number of tokens: newest first in one piece, or the most relevant ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from scopes.context.fitting import cut_to_fit
from scopes.context.turns import Turn, block_of

_WORTH_FILLING = 90  # hundredths of the room; below that a turn that does not fit is cut
_MOST_MISSES = 64  # turns that are counted although there is little room left


@dataclass(slots=True)
class Selection:
    """What was chosen: the text and tokens of each kept turn by its position, and why the others were dropped."""

    kept: dict[int, str] = field(default_factory=dict)
    tokens: dict[int, int] = field(default_factory=dict)
    used: int = 0
    truncated: int | None = None
    dropped: dict[int, str] = field(default_factory=dict)

    def keep(self, position: int, text: str, tokens: int) -> None:
        """Keep a turn as this text."""
        self.kept[position] = text
        self.tokens[position] = tokens
        self.used += tokens


def select_newest(turns: Sequence[Turn], room: int, count: Callable[[str], int]) -> Selection:
    """Keep the newest turns in one piece; the one at the edge is cut where much room would stay empty (S1-4, S1-6).

    Turns are given oldest first. No body beyond the edge is counted.
    """
    chosen = Selection()
    for position in reversed(range(len(turns))):
        tokens = chosen.tokens[position] = count(turns[position].block)
        if chosen.used + tokens > room:
            fill(chosen, turns, position, room, count)
            break
        chosen.keep(position, turns[position].block, tokens)
    for position in range(len(turns)):
        if position not in chosen.kept:
            chosen.dropped[position] = "older than what fits"
    return chosen


def best_first(scores: Mapping[int, float]) -> list[int]:
    """Return positions by their scores, the newer one of two equals first."""
    return sorted(scores, key=lambda p: (-scores[p], -p))


def select_relevant(
    turns: Sequence[Turn], scores: Mapping[int, float], room: int, count: Callable[[str], int]
) -> Selection:
    """Keep the turns with the highest scores, the newer one of two equals; what does not fit is passed over."""
    chosen = Selection()
    skipped: int | None = None
    missed = 0
    for position in best_first(scores):
        left = room - chosen.used
        if left <= 0 or missed == _MOST_MISSES:
            chosen.dropped[position] = "less relevant than what fits"
            continue
        tokens = chosen.tokens[position] = count(turns[position].block)
        if tokens <= left:
            chosen.keep(position, turns[position].block, tokens)
        else:
            chosen.dropped[position] = f"{tokens} tokens did not fit into {left}"
            missed += 1
            skipped = position if skipped is None else skipped
    if skipped is not None:
        fill(chosen, turns, skipped, room, count)
    return chosen


def fill(chosen: Selection, turns: Sequence[Turn], position: int, room: int, count: Callable[[str], int]) -> None:
    """Cut a turn that does not fit to what is left, if nothing is kept yet or much would be left."""
    used = chosen.used
    if chosen.kept and used * 100 >= room * _WORTH_FILLING:
        return
    turn = turns[position]
    cut = cut_to_fit(turn.content, room - used, lambda content: count(block_of(turn, content)))
    if cut is not None:
        text = block_of(turn, cut)
        chosen.keep(position, text, count(text))
        chosen.truncated = position
        chosen.dropped.pop(position, None)
