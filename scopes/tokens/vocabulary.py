"""The tokens of an encoding, in the order of their ranks, as fast as they can be had.

A rank file takes a hundred milliseconds to unpack and decode. What comes out is kept in our cache in the form that the
interpreter itself reads, and is used only where its hash is the one that the program knows: it is as trustworthy as
the rank file, and a damaged one is made again.
"""

from __future__ import annotations

import marshal
import os
from binascii import a2b_base64
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256

from scopes.result import Note
from scopes.tokens.atomic_write import write_file
from scopes.tokens.encodings import Encoding
from scopes.tokens.rank_files import RankFilePaths, read_regular, walk_rank_files

_PLAIN = 2  # the format without references, the same from every version of Python


class Vocabulary:
    """The checked data of an encoding, from which its tokens are made when they are needed."""

    def __init__(self, data: bytes, path: str, *, decoded: bool) -> None:
        self._data = data
        self._path = path
        self._decoded = decoded

    def load(self) -> Sequence[bytes]:
        """Return the tokens in the order of their ranks, and keep them decoded where they are not yet."""
        if self._decoded:
            tokens: Sequence[bytes] = marshal.loads(self._data)  # noqa: S302  its hash is known
            return tokens
        tokens = tuple(map(a2b_base64, self._data.split()[::2]))  # ranks are the order of the file
        with suppress(OSError):
            write_file(self._path, marshal.dumps(tokens, _PLAIN))
        return tokens


def find_vocabulary(places: RankFilePaths, encoding: Encoding) -> tuple[Vocabulary | None, tuple[Note, ...]]:
    """Return the vocabulary of an encoding where there is one, and a note on every file that is not what it seems."""
    path = os.path.join(places.cache, "tokens", f"{encoding.name}.decoded")
    data = read_regular(path)
    if data is not None and sha256(data).hexdigest() == encoding.decoded_sha256:
        return Vocabulary(data, path, decoded=True), ()
    notes: list[Note] = []
    for found in walk_rank_files(places, encoding):
        if found.data is not None:
            return Vocabulary(found.data, path, decoded=False), tuple(notes)
        hint = "bring it again: scopes tokens fetch"
        notes.append(Note(f"{found.candidate.path} is not {encoding.name} and was not used", hint))
    return None, tuple(notes)
