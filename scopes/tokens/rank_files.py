"""Find, verify and load the rank file of an encoding: the list of its tokens in the order of their ranks.

Rank files are looked for in three places, in this order:

TIKTOKEN_CACHE_DIR     tiktoken's own cache
cache directory        downloaded by `scopes tokens fetch`
installed package      `bpe_openai` ships the files; they are found by path, the package is never imported

Nothing is downloaded here, and a file is used only if its hash is right.
"""

from __future__ import annotations

import os
import sys
from binascii import a2b_base64
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha1, sha256
from typing import NamedTuple

from scopes.result import Note
from scopes.store.discovery import cache_directory
from scopes.tokens.cache_files import read_cache_file
from scopes.tokens.encodings import Encoding

_PACKAGE_DATA = os.path.join("bpe_openai", "data")


class RankFilePaths(NamedTuple):
    """Directories to search: our cache, tiktoken's cache, and the directories of installed packages."""

    cache: str
    tiktoken_cache: str | None = None
    packages: tuple[str, ...] = ()

    def own_file(self, encoding: Encoding) -> str:
        """Return the path of an encoding's rank file in our cache."""
        return os.path.join(self.cache, "tokens", f"{encoding.name}.tiktoken")


def rank_file_paths(environ: Mapping[str, str]) -> RankFilePaths:
    """Return the directories that are searched for rank files."""
    return RankFilePaths(
        cache_directory(environ), environ.get("TIKTOKEN_CACHE_DIR") or None, tuple(filter(None, sys.path))
    )


class RankFile(NamedTuple):
    """An existing file that should be an encoding's rank file.

    `origin` is tiktoken, cache or carrier (a package). `data` is None if the hash is wrong or the file is unreadable.
    """

    path: str
    origin: str
    data: bytes | None


def find_ranks(paths: RankFilePaths, encoding: Encoding) -> tuple[bytes | None, tuple[Note, ...]]:
    """Return the content of an encoding's rank file, or None, and a note for each file with a wrong hash."""
    notes: list[Note] = []
    for file in walk_rank_files(paths, encoding):
        if file.data is not None:
            return file.data, tuple(notes)
        notes.append(Note(f"{file.path} is not {encoding.name} and was not used", "replace it: scopes tokens fetch"))
    return None, tuple(notes)


def decode_ranks(data: bytes) -> Sequence[bytes]:
    """Return the tokens of a rank file in the order of their ranks, which is that of the lines."""
    return tuple(map(a2b_base64, data.split()[::2]))


def walk_rank_files(paths: RankFilePaths, encoding: Encoding) -> Iterator[RankFile]:
    """Yield the existing rank files, preferred first; each is read and verified when it is reached."""
    for path, origin in _candidate_paths(paths, encoding):
        if os.path.lexists(path):
            data = read_cache_file(path)
            valid = data is not None and sha256(data).hexdigest() == encoding.sha256
            yield RankFile(path, origin, data if valid else None)


def _candidate_paths(paths: RankFilePaths, encoding: Encoding) -> Iterator[tuple[str, str]]:
    if paths.tiktoken_cache:
        name = sha1(encoding.url.encode(), usedforsecurity=False).hexdigest()
        yield os.path.join(paths.tiktoken_cache, name), "tiktoken"
    yield paths.own_file(encoding), "cache"
    for directory in paths.packages:
        yield os.path.join(directory, _PACKAGE_DATA, f"{encoding.name}.tiktoken.gz"), "carrier"
