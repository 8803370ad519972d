"""What a model's provider counted of a conversation, beside what a public encoding counts of it.

Providers without a public encoding say with each answer how much they were sent. From one answer to the next that
grows by the first answer and all that was said since: so many of their tokens for a text that can be counted here.
Some steps also bring what is in no record, a tool's description or a file of instructions, so the factor is the median
step's, each weighted by its text. Of real Claude Code transcripts it is between 1.13 and 1.65 of what o200k counts.

The tokens that an answer itself is said to have are of no use for this. Claude Code writes them down when the answer
begins, so that they are between a hundredth and four times those of its text; and they include thoughts that are not
in the record.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, islice

from scopes.context.part_text import texts_of
from scopes.history.messages import read_message, walk_heads_newest_first
from scopes.history.revparse import Revision
from scopes.history.usage import tokens_of
from scopes.model.message import Message
from scopes.result import Note
from scopes.store.repository import Repository
from scopes.tokens.choose import ScaledTokenizer, TokenizerChoice

_MOST_MESSAGES = 400  # the newest ones are looked at
_FEWEST_STEPS = 5  # from one answer to the next
_FEWEST_TOKENS = 1_000
_LEAST, _MOST = 100, 300  # a factor beyond those tells of something else than text


def calibrate(repository: Repository, place: Revision, chosen: TokenizerChoice) -> TokenizerChoice:
    """Take the factor of a model from what its provider recorded in a conversation, where that tells enough.

    A factor that a person has set stays.
    """
    scaled = chosen.tokenizer
    if not isinstance(scaled, ScaledTokenizer) or scaled.fixed:
        return chosen
    newest = islice(walk_heads_newest_first(repository, [place.oid]), _MOST_MESSAGES)
    messages = [read_message(repository, head.oid) for head in newest][::-1]
    grown_by = [(grown, text) for grown, text in _steps(messages, scaled.family) if text]
    counter = scaled.counter
    counter.prepare(text for _, text in grown_by)
    steps = [(grown, counter.count(text)) for grown, text in grown_by]
    if len(steps) < _FEWEST_STEPS or sum(counted for _, counted in steps) < _FEWEST_TOKENS:
        return chosen
    factor = _median(steps)
    if not _LEAST <= factor <= _MOST:
        return chosen
    told = f"those of {scaled.family} are taken as {factor / 100:g} of {counter.name}'s, as this conversation records"
    return TokenizerChoice(scaled.over(counter, factor), (*chosen.notes[:-1], Note(f"tokens are estimated: {told}")))


def _steps(messages: Iterable[Message], family: str) -> Iterable[tuple[int, str]]:
    """Yield by how much the provider's count grew from one answer to the next, and the text that it grew by."""
    before: int | None = None
    said: list[str] = []
    for message in messages:
        used = tokens_of(message)
        sent = used.input if used is not None and (message.model or "").lower().startswith(family) else None
        if message.extra.get("context_root") is True:
            before = None
        if sent is not None:
            if before is not None and sent > before:
                yield sent - before, "\n".join(said)
            before, said = sent or None, []
        said += [text for category, text in texts_of(message) if category != "reasoning"]


def _median(steps: list[tuple[int, int]]) -> int:
    """Return the middle factor in hundredths, rounded up; a step weighs as much as its text has tokens."""
    ranked = sorted((-(-grown * 100 // counted), counted) for grown, counted in steps)
    sums = accumulate(counted for _, counted in ranked)
    half = sum(counted for _, counted in ranked) / 2
    return next(factor for (factor, _), weight in zip(ranked, sums, strict=True) if weight >= half)
