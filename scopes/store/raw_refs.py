"""Reading many refs at once from their files: libgit2's iterator takes no prefix and opens every ref of the store.

A ref stands in a file of its own or else in `packed-refs`. The files come first and `packed-refs` after them, as in
git: packing writes a ref there before it takes its file away.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from scopes.errors import Corrupt
from scopes.store.refs import SYMBOLIC

_LOOSE = re.compile(r"ref: (?P<name>\S[^\0\n]*?)\s*|(?P<oid>[0-9a-f]{40})(?:\s.*)?", re.DOTALL)
_LONGEST_REF = 4096
_HEXADECIMAL = "0123456789abcdef"


class RefFiles(NamedTuple):
    """What the files of refs say at one moment: those with a file of their own, damaged ones as None, and the rest."""

    loose: dict[str, str | None]
    packed: bytes

    def state_of(self, prefixes: tuple[str, ...]) -> str:
        """Return a short text that differs where a ref with one of the prefixes may differ.

        It also differs where the same refs lie otherwise in their files, or another one in `packed-refs` does.
        """
        digest = hashlib.sha256(self.packed)
        loose = sorted(item for item in self.loose.items() if item[0].startswith(prefixes))
        digest.update(repr(loose).encode("utf-8", "backslashreplace"))
        return digest.hexdigest()

    def list_refs(self, prefixes: tuple[str, ...]) -> dict[str, str]:
        """Return every ref whose name begins with one of the prefixes, sorted by name; a symbolic one as `ref: <name>`.

        A ref whose own file is damaged is left out, and so is what `packed-refs` has of it, which is older.

        Raises:
            Corrupt: `packed-refs` is damaged.
        """
        found = _parse_packed(self.packed, prefixes) | self.loose
        return {name: value for name, value in sorted(found.items()) if value is not None}


def read_ref_files(store: str, prefixes: tuple[str, ...]) -> RefFiles:
    """Read the files of the refs whose names begin with one of the prefixes.

    Raises:
        OSError: a file cannot be read.
    """
    loose = {name: value for prefix in prefixes for name, value in _walk_loose(store, *_split(prefix))}
    try:
        with open(os.path.join(store, "packed-refs"), "rb") as file:
            packed = file.read()
    except FileNotFoundError:
        packed = b""
    return RefFiles(loose, packed)


def _split(prefix: str) -> tuple[str, str]:
    directory, _, start = prefix.rpartition("/")
    return directory, start


def _walk_loose(store: str, directory: str, start: str) -> Iterator[tuple[str, str | None]]:
    """Yield every ref that has a file below a directory, with None for a damaged one."""
    try:
        with os.scandir(os.path.join(store, directory)) as entries:
            here = [entry for entry in entries if entry.name.startswith(start)]
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in here:
        name = f"{directory}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _walk_loose(store, name, "")
        elif not name.endswith(".lock"):
            try:
                yield name, _read_loose(entry.path)
            except FileNotFoundError:
                continue  # deleted, or packed, which is read next


def _read_loose(path: str) -> str | None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = os.read(descriptor, _LONGEST_REF)
    finally:
        os.close(descriptor)
    match = _LOOSE.fullmatch(content.decode("utf-8", "surrogateescape"))
    if match is None:
        return None
    return match["oid"] or SYMBOLIC + match["name"]


def _parse_packed(packed: bytes, prefixes: tuple[str, ...]) -> dict[str, str | None]:
    *lines, rest = packed.decode("utf-8", "surrogateescape").split("\n")
    found: dict[str, str | None] = {}
    for line in lines:
        oid, _, name = line.partition(" ")
        if len(oid) == 40 and name and not oid.strip(_HEXADECIMAL):
            if name.startswith(prefixes):
                found[name] = oid
        elif not line.startswith(("#", "^")):
            rest += line
    if rest:
        raise Corrupt("a ref of the store is damaged", hint="see: scopes verify")
    return found
