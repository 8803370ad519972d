"""Exact token counts with tiktoken, which is imported when the first text is counted.

Building an encoding with all of its 200,000 tokens takes longer than the rest of a command. It is therefore built with
only those tokens that can occur in the texts to be counted, and with all of them only if that is a lot of text.

Why a part of the vocabulary is enough: a tokenizer cuts a text into pieces, and byte pair encoding looks up nothing
but substrings of a piece. `chunks_of` cuts a text into chunks so large that every piece lies within one chunk, so
every substring that can be looked up is a substring of a chunk. With all tokens among those substrings (`parts_of`)
a text is encoded exactly as with the whole vocabulary.
"""

from __future__ import annotations

import re
from _thread import allocate_lock
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from scopes.errors import Inaccessible
from scopes.tokens.encodings import Encoding
from scopes.tokens.rank_files import decode_ranks

if TYPE_CHECKING:
    import tiktoken

MAX_TOKEN_BYTES = 128
_MAX_BLANK = 500_000  # characters; tiktoken panics on longer runs of white space
_BLANK = re.compile(rf"\s{{{_MAX_BLANK}}}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_PARTIAL_BUILDS = 4  # together they take as long as one build with the whole vocabulary
_MAX_PARTIAL_CHARACTERS = 500_000  # of text; searching more for chunks takes longer than a whole build
_MAX_PARTS = 600_000
_NUMBERS = frozenset(f"{n:0{width}}".encode() for width in (1, 2, 3) for n in range(10**width))  # of headings
_SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # Unicode white space
_OTHER = (  # neither white space nor ASCII
    r"\x80-\x84\x86-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff"
    r"\u3001-\U0010ffff"
)
_ASCII_PUNCTUATION = r"\x00-\x08\x0e-\x1f!-/:-@\[-`{-\x7f"
_CHUNKS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"[^\r\nA-Za-z0-9]?[A-Za-z'{_OTHER}]+",  # a word with one character before it and contractions after it
        rf" ?[{_ASCII_PUNCTUATION}{_OTHER}\r\n]+",
        rf"[0-9{_OTHER}]+",
        rf"[{_SPACE}]+",
    )
)


class ExactTokenizer:
    """Counts with the content of an encoding's rank file; special tokens in a text are counted as plain text."""

    method = "exact"

    def __init__(self, encoding: Encoding, ranks: bytes) -> None:
        self.name = encoding.name
        self._encoding = encoding
        self._ranks = ranks
        self._tokens: Sequence[bytes] = ()
        self._built: tiktoken.Encoding | None = None
        self._builds = 0
        self._is_whole = False
        self._chunks: set[str] = set()
        self._parts = set(_NUMBERS)
        self._announced: list[str] = []
        self._announced_characters = 0
        self._needs_whole = False  # the announced texts are too long
        self._lock = allocate_lock()

    def prepare(self, texts: Iterable[str]) -> None:
        """Announce texts that will be counted, so that one build of the encoding covers all of them."""
        announced = list(texts)
        with self._lock:
            if not (self._is_whole or self._needs_whole):
                self._announced += announced
                self._announced_characters += sum(map(len, announced))
                if self._announced_characters > _MAX_PARTIAL_CHARACTERS:
                    self._needs_whole = True
                    self._announced.clear()

    def count(self, text: str) -> int:
        """Count the tokens of a text; an unpaired surrogate is counted as the replacement character."""
        if not text:
            return 0
        with self._lock:
            encoding = self._encoding_for(text)
        return sum(len(encoding.encode_ordinary(piece)) for piece in _split_long_blanks(_replace_surrogates(text)))

    def _encoding_for(self, text: str) -> tiktoken.Encoding:
        """Return the encoding with at least the tokens that can occur in this text."""
        if self._is_whole and self._built is not None:
            return self._built
        texts = [_replace_surrogates(each) for each in (text, *self._announced)]
        self._announced.clear()
        self._announced_characters = 0
        new_parts = None if self._needs_whole else self._find_new_parts(texts)
        if new_parts is not None and self._built is not None and new_parts <= self._parts:
            return self._built
        self._tokens = self._tokens or decode_ranks(self._ranks)
        self._builds += 1
        self._is_whole = new_parts is None or self._builds > _MAX_PARTIAL_BUILDS
        self._parts |= new_parts or set()
        tokens = self._tokens if self._is_whole else filter(self._parts.__contains__, self._tokens)
        self._built = _load_tiktoken()(
            self.name,
            pat_str=self._encoding.pattern,
            mergeable_ranks={token: rank for rank, token in enumerate(tokens)},
            special_tokens={},
        )
        return self._built

    def _find_new_parts(self, texts: list[str]) -> set[bytes] | None:
        """Return the parts of chunks that were not seen before; None if there are too many."""
        if sum(map(len, texts)) > _MAX_PARTIAL_CHARACTERS:
            return None
        chunks = set().union(*map(chunks_of, texts)) - self._chunks
        self._chunks |= chunks
        return parts_of(chunks)


_shared: dict[str, ExactTokenizer] = {}


def shared_tokenizer(encoding: Encoding, ranks: bytes) -> ExactTokenizer:
    """Return the one tokenizer of a process for this encoding, so that a program builds its vocabulary once.

    The data of an encoding is always the same: its hash is part of `Encoding`, and was checked.
    """
    return _shared.setdefault(encoding.sha256, ExactTokenizer(encoding, ranks))


def chunks_of(text: str) -> set[str]:
    """Return substrings of a text such that every piece that an encoding cuts it into lies within one of them."""
    return {chunk for pattern in _CHUNKS for chunk in pattern.findall(text)}


def parts_of(chunks: Iterable[str]) -> set[bytes] | None:
    """Return every substring of the chunks that is short enough to be a token; None if there are too many."""
    parts: set[bytes] = set()
    considered = 0
    for chunk in chunks:
        data = chunk.encode()
        length = len(data)
        considered += length * min(length, MAX_TOKEN_BYTES)
        if considered > _MAX_PARTS:
            return None
        parts.update(
            data[start:end]
            for start in range(length)
            for end in range(start + 1, min(length, start + MAX_TOKEN_BYTES) + 1)
        )
    return parts


def _load_tiktoken() -> type[tiktoken.Encoding]:
    try:
        import tiktoken
    except (ImportError, OSError) as error:
        raise Inaccessible(
            f"tiktoken cannot be loaded: {error}", hint="reinstall it, or remove its rank files to get estimates"
        ) from error
    return tiktoken.Encoding


def _replace_surrogates(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)


def _split_long_blanks(text: str) -> Iterator[str]:
    """Split a text inside every run of white space that is too long for tiktoken."""
    start = 0
    if len(text) > _MAX_BLANK:
        for match in _BLANK.finditer(text):
            yield text[start : match.end()]
            start = match.end()
    yield text[start:]
