"""Find, verify and load the rank file of an encoding: the list of its tokens in the order of their ranks.

Rank files are looked for in three places, in this order:

TIKTOKEN_CACHE_DIR     tiktoken's own cache
cache directory        downloaded by `scopes tokens fetch`
installed package      `bpe_openai` ships the files; they are found by path, the package is never imported

Nothing is downloaded here, and a file is used only if its hash is right. Decompressing and decoding a rank file takes
100 ms, so the decoded tokens are cached as a marshal file. That file is also used only if its hash is the expected
one, which makes it as trustworthy as the rank file; a damaged one is written again.
"""

from __future__ import annotations

import marshal
import os
import sys
from binascii import a2b_base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha1, sha256
from typing import NamedTuple

from scopes.result import Note
from scopes.store.discovery import cache_directory
from scopes.tokens.cache_files import read_cache_file, write_file
from scopes.tokens.encodings import Encoding

_PACKAGE_DATA = os.path.join("bpe_openai", "data")
_MARSHAL_VERSION = 2  # without references: the same bytes from every version of Python


class RankFilePaths(NamedTuple):
    """Directories to search: our cache, tiktoken's cache, and the directories of installed packages."""

    cache: str
    tiktoken_cache: str | None = None
    packages: tuple[str, ...] = ()

    def own_file(self, encoding: Encoding) -> str:
        """Return the path of an encoding's rank file in our cache."""
        return os.path.join(self.cache, "tokens", f"{encoding.name}.tiktoken")

    def decoded_file(self, encoding: Encoding) -> str:
        """Return the path of an encoding's decoded tokens in our cache."""
        return os.path.join(self.cache, "tokens", f"{encoding.name}.decoded")


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


class Vocabulary:
    """The verified data of an encoding; its tokens are decoded by `load`."""

    def __init__(self, data: bytes, decoded_path: str, *, decoded: bool) -> None:
        self._data = data
        self._decoded_path = decoded_path
        self._decoded = decoded

    def load(self) -> Sequence[bytes]:
        """Return the tokens in the order of their ranks; cache them if they were read from a rank file."""
        if self._decoded:
            tokens: Sequence[bytes] = marshal.loads(self._data)  # noqa: S302  its hash was checked
            return tokens
        tokens = tuple(map(a2b_base64, self._data.split()[::2]))  # the ranks are the order of the lines
        with suppress(OSError):
            write_file(self._decoded_path, marshal.dumps(tokens, _MARSHAL_VERSION))
        return tokens


def find_vocabulary(paths: RankFilePaths, encoding: Encoding) -> tuple[Vocabulary | None, tuple[Note, ...]]:
    """Return the vocabulary of an encoding, or None, and a note for each rank file with a wrong hash."""
    decoded_path = paths.decoded_file(encoding)
    data = read_cache_file(decoded_path)
    if data is not None and sha256(data).hexdigest() == encoding.decoded_sha256:
        return Vocabulary(data, decoded_path, decoded=True), ()
    notes: list[Note] = []
    for file in walk_rank_files(paths, encoding):
        if file.data is not None:
            return Vocabulary(file.data, decoded_path, decoded=False), tuple(notes)
        notes.append(Note(f"{file.path} is not {encoding.name} and was not used", "replace it: scopes tokens fetch"))
    return None, tuple(notes)


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
