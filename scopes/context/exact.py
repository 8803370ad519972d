"""Counting as the models do, by tiktoken, which is loaded at the first text that has to be counted."""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Iterator
from typing import TYPE_CHECKING

from scopes.context.encodings import Encoding
from scopes.loading import load

if TYPE_CHECKING:
    import tiktoken

_LONGEST_BLANK = 500_000  # tiktoken panics on longer runs of white space
_BLANK = re.compile(rf"\s{{{_LONGEST_BLANK}}}")
_SURROGATE = re.compile("[\ud800-\udfff]")


class ExactTokenizer:
    """Counts with an encoding's ranks; special tokens in a text count as the plain text that they are."""

    method = "exact"

    def __init__(self, encoding: Encoding, ranks: bytes) -> None:
        self.name = encoding.name
        self._encoding = encoding
        self._ranks = ranks
        self._loaded: tiktoken.Encoding | None = None

    def count(self, text: str) -> int:
        """Count the tokens of a text; half of a surrogate pair counts as the replacement character."""
        if not text:
            return 0
        encoding = self._load()
        return sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(_SURROGATE.sub("\ufffd", text)))

    def _load(self) -> tiktoken.Encoding:
        if self._loaded is None:
            words = self._ranks.split()
            ranks = dict(
                zip(map(a2b_base64, words[::2]), range(len(words) // 2), strict=True)
            )  # in the order of the file
            made: tiktoken.Encoding = load("tiktoken:Encoding")(
                self.name, pat_str=self._encoding.pattern, mergeable_ranks=ranks, special_tokens={}
            )
            self._loaded = made
            self._ranks = b""
        return self._loaded


def _pieces(text: str) -> Iterator[str]:
    """Cut a text inside every run of white space that tiktoken could not take."""
    start = 0
    if len(text) > _LONGEST_BLANK:
        for found in _BLANK.finditer(text):
            yield text[start : found.end()]
            start = found.end()
    yield text[start:]
