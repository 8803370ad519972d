"""Choose the tokenizer for a model: exact if a rank file of its encoding is found, otherwise an estimate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from scopes.errors import Refused
from scopes.result import Note
from scopes.tokens.encodings import DEFAULT_ENCODING, ENCODINGS
from scopes.tokens.estimate import EstimatingTokenizer
from scopes.tokens.exact import shared_tokenizer
from scopes.tokens.models import Model
from scopes.tokens.rank_files import RankFilePaths, find_ranks

_CHARACTERS_PER_TOKEN = 5  # somewhat more than the average of text
FETCH_HINT = "for exact counts: scopes tokens fetch, or pip install 'scopes-ai[tokens]'"


class Tokenizer(Protocol):
    """Counts tokens; `method` is exact or estimate, `name` identifies the counts (`o200k_base`, `o200k_base*130`)."""

    method: str
    name: str

    def prepare(self, texts: Iterable[str]) -> None:
        """Announce texts that will be counted, which makes counting them faster."""

    def count(self, text: str) -> int:
        """Count the tokens of a text."""


class ScaledTokenizer:
    """Counts for a model whose encoding is not public: the counts of another tokenizer times a factor."""

    method = "estimate"

    def __init__(self, counter: Tokenizer, factor: int, family: str, *, fixed: bool = False) -> None:
        """Scale by a factor in hundredths for a family of models; `fixed` means that the user set the factor."""
        self.name = f"{counter.name}*{factor}"
        self.family = family
        self.fixed = fixed
        self.counter = counter
        self._factor = factor

    def over(self, counter: Tokenizer, factor: int | None = None) -> ScaledTokenizer:
        """Return a copy that scales another tokenizer, optionally with another factor."""
        return ScaledTokenizer(counter, factor or self._factor, self.family, fixed=self.fixed)

    def prepare(self, texts: Iterable[str]) -> None:
        """Announce texts that will be counted."""
        self.counter.prepare(texts)

    def count(self, text: str) -> int:
        """Estimate the tokens of a text, rounded up."""
        return -(-self.counter.count(text) * self._factor // 100)


class TokenizerChoice(NamedTuple):
    """A tokenizer, and notes for the user on how it counts."""

    tokenizer: Tokenizer
    notes: tuple[Note, ...]


def choose_tokenizer(paths: RankFilePaths, model: Model | None = None, *, strict: bool = False) -> TokenizerChoice:
    """Return the tokenizer for a model, or for o200k if there is no model.

    Raises:
        Refused: `strict` is set and counts can only be estimated.
    """
    encoding = ENCODINGS[DEFAULT_ENCODING if model is None else model.encoding]
    ranks, notes = find_ranks(paths, encoding)
    factor = 100 if model is None else model.factor
    exact = None if ranks is None else shared_tokenizer(encoding, ranks)
    if strict and (exact is None or factor != 100):
        reason = f"there is no data of {encoding.name}" if factor == 100 else "its tokens can only be estimated"
        raise Refused(f"exact token counts are not possible here: {reason}", hint=FETCH_HINT if factor == 100 else None)
    if exact is None:
        notes += (Note(f"tokens are estimated: there is no data of {encoding.name} here", FETCH_HINT),)
    tokenizer = exact or EstimatingTokenizer()
    if model is None or factor == 100:
        return TokenizerChoice(tokenizer, notes)
    note = Note(f"tokens are estimated: {factor / 100:g} {model.name} tokens for each {tokenizer.name} token")
    return TokenizerChoice(ScaledTokenizer(tokenizer, factor, model.name, fixed=model.fixed), (*notes, note))


def prepare_for_room(tokenizer: Tokenizer, texts: Iterable[str], room: int) -> None:
    """Announce the first texts, up to about `room` tokens; the others will not be counted."""
    announced = []
    characters_left = room * _CHARACTERS_PER_TOKEN
    for text in texts:
        announced.append(text)
        characters_left -= len(text)
        if characters_left < 0:
            break
    tokenizer.prepare(announced)
