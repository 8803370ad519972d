"""Loose objects, read without libgit2.

Version 1.9.7 never comes back from a truncated one (libgit2 issue 7342), which is what a power cut leaves, and writes
beyond its buffer for one whose header gives too small a size (issue 7177).
"""

from __future__ import annotations

import hashlib
import os
import zlib

from scopes.errors import Corrupt
from scopes.ids import Oid
from scopes.store.libgit2 import pygit2
from scopes.store.objects import BLOB, COMMIT, TAG, TREE

CODES = {COMMIT: 1, TREE: 2, BLOB: 3, TAG: 4}


def find_loose(objects_directory: str, oid: Oid) -> tuple[str, bytes] | None:
    """Return kind and bytes of a loose object, or None where there is no such file.

    Raises:
        Corrupt: the file is damaged.
        OSError: it cannot be read.
    """
    try:
        descriptor = os.open(f"{objects_directory}/{oid[:2]}/{oid[2:]}", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb", buffering=0) as file:
        stored = file.read()
    try:
        data = zlib.decompress(stored)
    except zlib.error as error:
        raise _damaged(oid) from error
    header, _, body = data.partition(b"\0")
    kind, _, size = header.decode("ascii", "replace").partition(" ")
    name = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    if name != oid or kind not in CODES or size != str(len(body)):
        raise _damaged(oid)
    return kind, body


class LooseReader(pygit2.OdbBackend):
    """Loose objects for libgit2's own walks, which ask this before its own reader; nothing is written through it."""

    def __init__(self, objects_directory: str) -> None:
        super().__init__()
        self._directory = objects_directory

    def read_cb(self, oid: pygit2.Oid) -> tuple[int, bytes]:
        """Return code and bytes of an object; KeyError sends libgit2 to the packs."""
        found = find_loose(self._directory, Oid(str(oid)))
        if found is None:
            raise KeyError(str(oid))
        return CODES[found[0]], found[1]

    def exists_cb(self, oid: pygit2.Oid) -> bool:
        """Tell whether there is such a file."""
        name = str(oid)
        return os.path.exists(f"{self._directory}/{name[:2]}/{name[2:]}")

    def refresh_cb(self) -> None:
        """Do nothing, files are looked up anew each time; but without an answer libgit2 looks for no new packs."""


def _damaged(oid: Oid) -> Corrupt:
    return Corrupt(f"object {oid} is damaged", hint="see: scopes verify")
