"""Choosing turns for a number of tokens: newest first in one piece, or the most relevant ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isqrt

from scopes.context.truncate import cut_to_fit
from scopes.context.turns import LONGEST, Turn, block_of, contents_of

_WORTH_FILLING = 90  # hundredths of the room; below that a turn that does not fit is cut
_TRIES = 8  # each halves what is open, on a scale of powers
_FEWEST_TOKENS = 8  # no turn has so few, its heading included
_MOST_CHARACTERS = 8  # of a token, on the average of a whole turn


@dataclass(slots=True)
class Selection:
    """What was chosen: the text and tokens of each kept turn by its position, and why the others were dropped.

    `limit` is at how many characters what tools gave is cut.
    """

    kept: dict[int, str] = field(default_factory=dict)
    tokens: dict[int, int] = field(default_factory=dict)
    used: int = 0
    truncated: int | None = None
    limit: int = LONGEST
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
    for position in best_first(scores):
        left, block = room - chosen.used, turns[position].block
        if left <= _FEWEST_TOKENS and chosen.kept:
            chosen.dropped[position] = "less relevant than what fits"
            continue
        large = len(block) > max(left, 0) * _MOST_CHARACTERS  # and not worth the counting
        tokens = None if large else count(block)
        if tokens is not None:
            chosen.tokens[position] = tokens
        if tokens is not None and tokens <= left:
            chosen.keep(position, block, tokens)
        else:
            chosen.dropped[position] = f"did not fit into {left} tokens"
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


def relax_cuts(
    turns: Sequence[Turn], chosen: Selection, room: int, count: Callable[[str], int]
) -> tuple[list[Turn], Selection]:
    """Cut what tools gave no more than the room demands, where all turns are kept and something was cut (S1-28)."""
    found = list(turns), chosen
    low, high = LONGEST, max((turn.longest for turn in turns), default=0)
    guess = high
    for _ in range(_TRIES):
        if guess <= low:
            break
        wider = [replace(t, content=contents_of(t.message, guess)) if t.clipped_at(LONGEST) else t for t in turns]
        kept = _keep_all(wider, room, count)
        if kept is None:
            high = guess
        else:
            kept.limit = low = guess
            found = wider, kept
        guess = isqrt(low * high)
    return found


def _keep_all(turns: Sequence[Turn], room: int, count: Callable[[str], int]) -> Selection | None:
    """Keep every turn; None where they do not fit, which is seen without counting where it is plain."""
    if sum(len(turn.content) for turn in turns) > room * _MOST_CHARACTERS:
        return None
    chosen = Selection()
    for position, turn in enumerate(turns):
        chosen.keep(position, turn.block, count(turn.block))
        if chosen.used > room:
            return None
    return chosen
