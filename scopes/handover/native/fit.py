"""Fit a history into the context window of an agent: the newest turns stay, a block of text replaces the older ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scopes.errors import Invalid
from scopes.handover.native.session import dump
from scopes.handover.native.turns import Turn
from scopes.ids import MessageId

_TURN_TOKENS = 8  # of what is around a turn in a request
_SHARE = 4  # a quarter of the tokens for what comes before


@dataclass(frozen=True, slots=True)
class FittedTurns:
    """Turns that fit; `left_out` is how many are in the block of text only, or before it."""

    turns: Sequence[Turn]
    tokens: int
    left_out: int = 0


def fit_turns(
    turns: Sequence[Turn],
    max_tokens: int,
    count: Callable[[str], int],
    write_earlier: Callable[[MessageId, int], str],
) -> FittedTurns:
    """Return the turns if they have at most `max_tokens`; else the newest ones, after a prompt for the older ones.

    `write_earlier` returns the text about the history up to a message, within a number of tokens. The turns that are
    kept begin with a prompt, if one of them is one, and never with results, whose calls would be missing.

    Raises:
        Invalid: not even the newest turn fits.
    """
    sizes = [count(_text_of(turn)) + _TURN_TOKENS for turn in turns]
    if sum(sizes) <= max_tokens:
        return FittedTurns(turns, sum(sizes))
    share = max(max_tokens // _SHARE, 2 * _TURN_TOKENS)
    room = max_tokens - share
    start, used = len(turns), 0
    while start and used + sizes[start - 1] <= room:
        start -= 1
        used += sizes[start]
    starts = [number for number in range(start, len(turns)) if turns[number].role != "results"]
    start = next((number for number in starts if turns[number].role == "user"), starts[0] if starts else len(turns))
    before = next((turn.message for turn in reversed(turns[:start]) if turn.message is not None), None)
    if start == len(turns) or before is None:
        newest = sum(sizes[max(len(turns) - 2, 0) :])
        raise Invalid(
            f"{max_tokens} tokens have no room for the newest messages", hint=f"use more: --max-tokens {newest * 2}"
        )
    block = write_earlier(before, share - _TURN_TOKENS)
    first = Turn("user", before, (block,), time=turns[start].time)
    kept = [first, *turns[start:]]
    return FittedTurns(kept, count(block) + _TURN_TOKENS + sum(sizes[start:]), start)


def _text_of(turn: Turn) -> str:
    calls = [f"{call.name} {dump(call.input)}" for call in turn.calls]
    return "\n".join([turn.text, *calls, *(result.text for result in turn.results)])
