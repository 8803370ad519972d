"""Select the turns that fit into a number of tokens: the newest ones, or the most relevant ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isqrt
from types import MappingProxyType
from typing import Final

from scopes.context.truncate import Count, cut_to_fit
from scopes.context.turns import TOOL_LIMIT, Turn, block_of, content_of

MIN_TURN_TOKENS = 8  # no turn has fewer, including its heading
_FILL_BELOW = 90  # hundredths of the room; if less is used, a turn that does not fit is truncated to fill it
_MIN_RESULT = 100  # characters to which tool results are shortened before a turn is cut
_MAX_WIDENINGS = 8  # steps of the search for a limit of tool results
_MAX_CHARACTERS_PER_TOKEN = 8  # on the average of a whole turn
NO_MARKS: Final[Mapping[int, int]] = MappingProxyType({})


@dataclass(slots=True)
class TurnSelection:
    """The selected turns by position: text and tokens of each kept turn, and the reason for each dropped one.

    `tokens` also has dropped turns that were counted. `truncated` is the position of the turn that was cut to fit,
    `limit` the number of characters at which tool results are clipped. `mark_tokens` are the tokens of the marks of
    each lane, which are used as soon as one of its turns is kept; `lanes` are those lanes.
    """

    kept: dict[int, str] = field(default_factory=dict)
    tokens: dict[int, int] = field(default_factory=dict)
    used: int = 0
    truncated: int | None = None
    limit: int = TOOL_LIMIT
    dropped: dict[int, str] = field(default_factory=dict)
    mark_tokens: Mapping[int, int] = field(default_factory=dict)
    lanes: set[int] = field(default_factory=set)

    def keep(self, position: int, turn: Turn, text: str, tokens: int) -> None:
        """Add a turn with this text, and the marks of its lanes."""
        self.used += tokens + self.count_marks(turn)
        self.kept[position] = text
        self.tokens[position] = tokens
        self.lanes.update(turn.lanes)

    def count_marks(self, turn: Turn) -> int:
        """Return the tokens of the marks that this turn needs, and that no kept turn needs yet."""
        return sum(self.mark_tokens.get(lane, 0) for lane in turn.lanes if lane not in self.lanes)


def select_newest(
    turns: Sequence[Turn], room: int, count: Count, mark_tokens: Mapping[int, int] = NO_MARKS
) -> TurnSelection:
    """Keep the newest turns without a gap; truncate the first one that does not fit if much room is left (S1-4, S1-6).

    Turns are oldest first. Turns older than the first that does not fit are not counted.
    """
    selection = TurnSelection(mark_tokens=mark_tokens)
    for position in reversed(range(len(turns))):
        turn = turns[position]
        tokens = selection.tokens[position] = count(turn.block)
        if selection.used + tokens + selection.count_marks(turn) > room:
            _fill(selection, turns, position, room, count)
            break
        selection.keep(position, turn, turn.block, tokens)
    for position in range(len(turns)):
        if position not in selection.kept:
            selection.dropped[position] = "older than what fits"
    return selection


def best_first(scores: Mapping[int, float]) -> list[int]:
    """Return the positions by descending score; of equal scores the newer turn first."""
    return sorted(scores, key=lambda position: (-scores[position], -position))


def select_relevant(
    turns: Sequence[Turn],
    scores: Mapping[int, float],
    room: int,
    count: Count,
    mark_tokens: Mapping[int, int] = NO_MARKS,
) -> TurnSelection:
    """Keep the turns with the highest scores; skip those that do not fit, and truncate the best skipped one."""
    selection = TurnSelection(mark_tokens=mark_tokens)
    best_skipped: int | None = None
    for position in best_first(scores):
        left = room - selection.used - selection.count_marks(turns[position])
        if left <= MIN_TURN_TOKENS and selection.kept:
            selection.dropped[position] = "less relevant than what fits"
            continue
        block = turns[position].block
        is_too_long = len(block) > max(left, 0) * _MAX_CHARACTERS_PER_TOKEN  # known without counting
        tokens = None if is_too_long else count(block)
        if tokens is not None:
            selection.tokens[position] = tokens
        if tokens is not None and tokens <= left:
            selection.keep(position, turns[position], block, tokens)
        else:
            selection.dropped[position] = f"did not fit into {left} tokens"
            best_skipped = position if best_skipped is None else best_skipped
    if best_skipped is not None:
        _fill(selection, turns, best_skipped, room, count)
    return selection


def relax_cuts(
    turns: Sequence[Turn], selection: TurnSelection, room: int, count: Count
) -> tuple[list[Turn], TurnSelection]:
    """Raise the limit of tool results as far as the room allows (S1-28); call it only if every turn was kept."""
    best = list(turns), selection
    low, high = TOOL_LIMIT, max((turn.longest for turn in turns), default=0)
    guess = high
    for _ in range(_MAX_WIDENINGS):
        if guess <= low:
            break
        wider = [
            replace(t, known_content=content_of(t.message, guess)) if t.clipped_at(TOOL_LIMIT) else t for t in turns
        ]
        all_kept = _keep_all(wider, room, count, selection.mark_tokens)
        if all_kept is None:
            high = guess
        else:
            all_kept.limit = low = guess
            best = wider, all_kept
        guess = isqrt(low * high)
    return best


def _fill(selection: TurnSelection, turns: Sequence[Turn], position: int, room: int, count: Count) -> None:
    """Truncate a turn to the remaining room, if nothing is kept yet or much room would stay empty."""
    used = selection.used
    if selection.kept and used * 100 >= room * _FILL_BELOW:
        return
    turn = turns[position]
    left = room - used - selection.count_marks(turn)
    content, fits = _shorten_results(turn, left, count)
    cut = content if fits else cut_to_fit(content, left, lambda text: count(block_of(turn, text)))
    if cut is not None:
        text = block_of(turn, cut)
        selection.keep(position, turn, text, count(text))
        selection.truncated = position
        selection.dropped.pop(position, None)


def _shorten_results(turn: Turn, room: int, count: Count) -> tuple[str, bool]:
    """Return the content with its tool results as long as the room allows, and whether it fits."""
    if turn.longest <= _MIN_RESULT:
        return turn.content, False
    best = content_of(turn.message, _MIN_RESULT)
    if count(block_of(turn, best)) > room:
        return best, False
    low, high = _MIN_RESULT, min(TOOL_LIMIT, turn.longest)
    for _ in range(_MAX_WIDENINGS):
        guess = (low + high) // 2
        if guess <= low:
            break
        content = content_of(turn.message, guess)
        if count(block_of(turn, content)) <= room:
            best, low = content, guess
        else:
            high = guess
    return best, True


def _keep_all(turns: Sequence[Turn], room: int, count: Count, mark_tokens: Mapping[int, int]) -> TurnSelection | None:
    """Keep every turn; None if they do not fit. Texts that are obviously too long are not counted."""
    if sum(len(turn.content) for turn in turns) > room * _MAX_CHARACTERS_PER_TOKEN:
        return None
    selection = TurnSelection(mark_tokens=mark_tokens)
    for position, turn in enumerate(turns):
        selection.keep(position, turn, turn.block, count(turn.block))
        if selection.used > room:
            return None
    return selection
