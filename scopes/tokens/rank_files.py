"""Where the rank file of an encoding is found. Nothing is ever downloaded here, and nothing is used unchecked.

TIKTOKEN_CACHE_DIR     tiktoken's own cache
scopes' cache          what `scopes tokens fetch` brought
a carrier              a package that ships the files; it is found by its path and never imported
"""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from hashlib import sha1, sha256
from typing import NamedTuple

from scopes.tokens.encodings import Encoding

_CARRIER = os.path.join("bpe_openai", "data")
_LARGEST_BYTES = 64 << 20


class RankFilePaths(NamedTuple):
    """Where to look: tiktoken's cache, our own cache directory, and the directories that packages lie in."""

    cache: str
    tiktoken_cache: str | None = None
    packages: tuple[str, ...] = ()

    def own_file(self, encoding: Encoding) -> str:
        """Return where our cache keeps the rank file of an encoding."""
        return os.path.join(self.cache, "tokens", f"{encoding.name}.tiktoken")


class Candidate(NamedTuple):
    """A file that may hold an encoding's ranks, and what kind of place it is in: tiktoken, cache or carrier."""

    path: str
    origin: str


class Checked(NamedTuple):
    """A candidate that exists; `data` is None where its hash is wrong or it cannot be read."""

    candidate: Candidate
    data: bytes | None


def walk_rank_files(places: RankFilePaths, encoding: Encoding) -> Iterator[Checked]:
    """Yield the rank files that there are, the preferred ones first, each read and checked as it is asked for."""
    for candidate in _candidates(places, encoding):
        if os.path.lexists(candidate.path):
            data = read_regular(candidate.path)
            right = data is not None and sha256(data).hexdigest() == encoding.sha256
            yield Checked(candidate, data if right else None)


def _candidates(places: RankFilePaths, encoding: Encoding) -> Iterator[Candidate]:
    if places.tiktoken_cache:
        name = sha1(encoding.url.encode(), usedforsecurity=False).hexdigest()
        yield Candidate(os.path.join(places.tiktoken_cache, name), "tiktoken")
    yield Candidate(places.own_file(encoding), "cache")
    for directory in places.packages:
        yield Candidate(os.path.join(directory, _CARRIER, f"{encoding.name}.tiktoken.gz"), "carrier")


def read_regular(path: str) -> bytes | None:
    """Read a regular file, unpacked; None where that is not possible."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            return (gzip.GzipFile(fileobj=file) if path.endswith(".gz") else file).read(_LARGEST_BYTES)
    except (OSError, EOFError, zlib.error):
        return None
