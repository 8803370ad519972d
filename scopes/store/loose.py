"""Read loose objects without libgit2.

libgit2 1.9.7 loops forever on a truncated object (libgit2 issue 7342), which a power cut can leave, and writes beyond
its buffer if the header of an object gives too small a size (issue 7177).
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
    """Return kind and bytes of a loose object; None if there is no such file.

    Raises:
        Corrupt: the file is damaged.
        OSError: the file cannot be read.
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
    """A read-only libgit2 backend for loose objects, used by libgit2's own walks before its built-in backend."""

    def __init__(self, objects_directory: str) -> None:
        super().__init__()
        self._directory = objects_directory

    def read_cb(self, oid: pygit2.Oid) -> tuple[int, bytes]:
        """Return type code and bytes of an object; on KeyError libgit2 tries the packs."""
        found = find_loose(self._directory, Oid(str(oid)))
        if found is None:
            raise KeyError(str(oid))
        return CODES[found[0]], found[1]

    def exists_cb(self, oid: pygit2.Oid) -> bool:
        """Return True if the object has a file."""
        name = str(oid)
        return os.path.exists(f"{self._directory}/{name[:2]}/{name[2:]}")

    def refresh_cb(self) -> None:
        """Do nothing: files are looked up each time. Without this method libgit2 would not look for new packs."""


def _damaged(oid: Oid) -> Corrupt:
    return Corrupt(f"object {oid} is damaged", hint="see: scopes verify")
