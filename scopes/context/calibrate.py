"""Measure how many tokens a provider counts for each token of a public encoding, from the usage that it recorded.

Providers without a public encoding report with each answer the number of input tokens. From one answer to the next,
input tokens grow by the previous answer and the messages since. Dividing that growth by our own count of the same text
gives the factor. Some steps also add text that is in no record (descriptions of tools, instruction files), so the
factor is the median of the steps, each weighted by the tokens of its text. In real Claude Code transcripts it is
between 1.13 and 1.65 of o200k.

The recorded output tokens cannot be used. Claude Code writes them when the answer begins, so they are between a
hundredth and four times those of the text; and they include thinking that is not in the record.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, islice

from scopes.context.part_text import texts_of
from scopes.history.activity import tokens_of
from scopes.history.messages import read_body, walk_headers_newest_first
from scopes.history.names import Revision
from scopes.model.message import Message
from scopes.result import Note
from scopes.store.repository import Repository
from scopes.tokens.count import ScaledTokenizer, TokenizerChoice

_MAX_MESSAGES = 400  # the newest ones are read
_MIN_STEPS = 5  # a step goes from one answer to the next
_MIN_TOKENS = 1_000
_MIN_FACTOR, _MAX_FACTOR = 100, 300  # hundredths; other factors are caused by something else than text


def calibrate(repository: Repository, revision: Revision, choice: TokenizerChoice) -> TokenizerChoice:
    """Replace a model's factor by the one measured from a conversation, if enough usage was recorded.

    A factor that the user set is kept.
    """
    scaled = choice.tokenizer
    if not isinstance(scaled, ScaledTokenizer) or scaled.fixed:
        return choice
    newest = islice(walk_headers_newest_first(repository, [revision.oid]), _MAX_MESSAGES)
    messages = [read_body(repository, head) for head in newest][::-1]
    steps = [(growth, text) for growth, text in _walk_steps(messages, scaled.family) if text]
    counter = scaled.counter
    counted = [(growth, counter.count(text)) for growth, text in steps]
    if len(counted) < _MIN_STEPS or sum(tokens for _, tokens in counted) < _MIN_TOKENS:
        return choice
    factor = _weighted_median(counted)
    if not _MIN_FACTOR <= factor <= _MAX_FACTOR:
        return choice
    ratio = f"{factor / 100:g} {scaled.family} tokens for each {counter.name} token"
    note = Note(f"tokens are estimated: {ratio}, as this conversation records")
    return TokenizerChoice(scaled.over(counter, factor), (*choice.notes[:-1], note))


def _walk_steps(messages: Iterable[Message], family: str) -> Iterable[tuple[int, str]]:
    """Yield for each step how much the input tokens grew, and the text that was added."""
    before: int | None = None
    texts: list[str] = []
    for message in messages:
        usage = tokens_of(message)
        sent = usage.input if usage is not None and (message.model or "").lower().startswith(family) else None
        if message.extra.get("context_root") is True:
            before = None
        if sent is not None:
            if before is not None and sent > before:
                yield sent - before, "\n".join(texts)
            before, texts = sent or None, []
        texts += [text for category, text in texts_of(message) if category != "reasoning"]


def _weighted_median(steps: list[tuple[int, int]]) -> int:
    """Return the median of growth / tokens in hundredths, rounded up; each step is weighted by its tokens."""
    ranked = sorted((-(-growth * 100 // tokens), tokens) for growth, tokens in steps)
    sums = accumulate(tokens for _, tokens in ranked)
    half = sum(tokens for _, tokens in ranked) / 2
    return next(factor for (factor, _), weight in zip(ranked, sums, strict=True) if weight >= half)
