"""Choosing how tokens are counted: exactly where an encoding's ranks are at hand, otherwise by an estimate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from scopes.errors import Refused
from scopes.result import Note
from scopes.tokens.encodings import DEFAULT_ENCODING, ENCODINGS
from scopes.tokens.estimate import EstimatingTokenizer
from scopes.tokens.exact import ExactTokenizer
from scopes.tokens.models import Model
from scopes.tokens.rank_files import RankFilePaths
from scopes.tokens.vocabulary import find_vocabulary

_CHARACTERS_A_TOKEN = 5  # rather more than text has on average
FETCH_HINT = "for exact counts: scopes tokens fetch, or pip install 'scopes-ai[tokens]'"


class Tokenizer(Protocol):
    """Counts tokens; `method` is exact or estimate, `name` tells counters apart whose numbers differ."""

    method: str
    name: str

    def prepare(self, texts: Iterable[str]) -> None:
        """Announce texts that will be counted, which makes counting them faster."""

    def count(self, text: str) -> int:
        """Count the tokens of a text."""


def prepare_for_room(tokenizer: Tokenizer, texts: Iterable[str], room: int) -> None:
    """Announce of the texts, given in the order they are tried in, those that so many tokens could have room for."""
    likely = []
    left = room * _CHARACTERS_A_TOKEN
    for text in texts:
        likely.append(text)
        left -= len(text)
        if left < 0:
            break
    tokenizer.prepare(likely)


class ScaledTokenizer:
    """Counts for a model whose encoding is not public: so many tokens of it for each of a known one's."""

    method = "estimate"

    def __init__(self, counter: Tokenizer, factor: int, family: str, *, fixed: bool = False) -> None:
        """Scale by a factor in hundredths, for a family of models; `fixed` is one that a person has set."""
        self.name = f"{counter.name}*{factor}"
        self.family = family
        self.fixed = fixed
        self.counter = counter
        self._factor = factor

    def over(self, counter: Tokenizer, factor: int | None = None) -> ScaledTokenizer:
        """Return the same over another counter, or with another factor."""
        return ScaledTokenizer(counter, factor or self._factor, self.family, fixed=self.fixed)

    def prepare(self, texts: Iterable[str]) -> None:
        """Announce texts that will be counted."""
        self.counter.prepare(texts)

    def count(self, text: str) -> int:
        """Estimate the tokens of a text, rounded up."""
        return -(-self.counter.count(text) * self._factor // 100)


class TokenizerChoice(NamedTuple):
    """A way to count, with what a person should know about it."""

    tokenizer: Tokenizer
    notes: tuple[Note, ...]


def choose_tokenizer(places: RankFilePaths, model: Model | None = None, *, strict: bool = False) -> TokenizerChoice:
    """Choose how to count for a model; without one as o200k does.

    Raises:
        Refused: `strict`, and there are no exact numbers to be had.
    """
    encoding = ENCODINGS[DEFAULT_ENCODING if model is None else model.encoding]
    vocabulary, notes = find_vocabulary(places, encoding)
    factor = 100 if model is None else model.factor
    counter = None if vocabulary is None else ExactTokenizer(encoding, vocabulary)
    if strict and (counter is None or factor != 100):
        reason = f"there is no data of {encoding.name}" if factor == 100 else "its tokens can only be estimated"
        raise Refused(f"exact token counts are not possible here: {reason}", hint=FETCH_HINT if factor == 100 else None)
    if counter is None:
        notes += (Note(f"tokens are estimated: there is no data of {encoding.name} here", FETCH_HINT),)
    known = counter or EstimatingTokenizer()
    if model is None or factor == 100:
        return TokenizerChoice(known, notes)
    said = Note(f"tokens are estimated: those of {model.name} are taken as {factor / 100:g} of {known.name}'s")
    return TokenizerChoice(ScaledTokenizer(known, factor, model.name, fixed=model.fixed), (*notes, said))
