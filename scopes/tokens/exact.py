"""Counting as the models do, by tiktoken, which is loaded at the first text that has to be counted.

Building an encoding with all of its tokens takes longer than everything else that a command does. It is built with
those alone that the texts to be counted can be made of, and with all of them only where that is a lot of text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from scopes.errors import Inaccessible
from scopes.loading import load
from scopes.tokens.encodings import Encoding
from scopes.tokens.partial_vocabulary import chunks_of, parts_of
from scopes.tokens.vocabulary import Vocabulary

if TYPE_CHECKING:
    import tiktoken

_LONGEST_BLANK = 500_000  # tiktoken panics on longer runs of white space
_BLANK = re.compile(rf"\s{{{_LONGEST_BLANK}}}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MOST_BUILDS = 4  # of part of an encoding, which together take as long as building the whole
_NUMBERS = frozenset(f"{n:0{width}}".encode() for width in (1, 2, 3) for n in range(10**width))  # of headings
_MOST_CHARACTERS = 500_000  # of texts that are worth the search for their parts


class ExactTokenizer:
    """Counts with an encoding's ranks; special tokens in a text count as the plain text that they are."""

    method = "exact"

    def __init__(self, encoding: Encoding, vocabulary: Vocabulary) -> None:
        self.name = encoding.name
        self._encoding = encoding
        self._vocabulary = vocabulary
        self._tokens: Sequence[bytes] = ()
        self._built: tiktoken.Encoding | None = None
        self._builds = 0
        self._whole = False
        self._chunks: set[str] = set()
        self._parts = set(_NUMBERS)
        self._announced: list[str] = []

    def prepare(self, texts: Iterable[str]) -> None:
        """Announce texts that will be counted, so that an encoding can be built for all of them at once."""
        self._announced += texts

    def count(self, text: str) -> int:
        """Count the tokens of a text; half of a surrogate pair counts as the replacement character."""
        if not text:
            return 0
        encoding = self._load(text)
        return sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(_well_formed(text)))

    def _load(self, text: str) -> tiktoken.Encoding:
        """Return the encoding with all the tokens that this text can be made of."""
        if self._whole and self._built is not None:
            return self._built
        texts = [_well_formed(each) for each in (text, *self._announced)]
        self._announced.clear()
        fresh = self._fresh_parts(texts)
        if fresh is not None and self._built is not None and fresh <= self._parts:
            return self._built
        self._tokens = self._tokens or self._vocabulary.load()
        self._builds += 1
        self._whole = fresh is None or self._builds > _MOST_BUILDS
        self._parts |= fresh or set()
        wanted = self._tokens if self._whole else filter(self._parts.__contains__, self._tokens)
        built: tiktoken.Encoding = _load_tiktoken()(
            self.name,
            pat_str=self._encoding.pattern,
            mergeable_ranks={token: rank for rank, token in enumerate(wanted)},
            special_tokens={},
        )
        self._built = built
        return built

    def _fresh_parts(self, texts: list[str]) -> set[bytes] | None:
        """Return the parts of the texts' chunks that were not met before; None where there are too many."""
        if sum(map(len, texts)) > _MOST_CHARACTERS:
            return None
        chunks = set().union(*map(chunks_of, texts)) - self._chunks
        self._chunks |= chunks
        return parts_of(chunks)


def _load_tiktoken() -> Callable[..., tiktoken.Encoding]:
    try:
        made: Callable[..., tiktoken.Encoding] = load("tiktoken:Encoding")
    except (ImportError, OSError) as error:
        raise Inaccessible(
            f"tiktoken cannot be loaded: {error}", hint="install it again, or take its data away"
        ) from error
    return made


def _well_formed(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)


def _pieces(text: str) -> Iterator[str]:
    """Cut a text inside every run of white space that tiktoken could not take."""
    start = 0
    if len(text) > _LONGEST_BLANK:
        for found in _BLANK.finditer(text):
            yield text[start : found.end()]
            start = found.end()
    yield text[start:]
