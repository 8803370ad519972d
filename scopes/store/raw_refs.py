"""Read many refs from their files: libgit2's iterator takes no prefix and opens every ref of the store.

A ref is in a file of its own (a loose ref) or in `packed-refs`. Loose refs are read first and `packed-refs` after them,
as git does: packing writes a ref into `packed-refs` before it removes the file.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from scopes.errors import Corrupt
from scopes.regular_file import UNUSABLE, UnusableFile, read_regular
from scopes.store.packed_refs import parse_packed_names, parse_packed_refs, read_packed_refs
from scopes.store.refs import SYMBOLIC

_LOOSE = re.compile(r"ref: (?P<name>\S[^\0\n]*?)\s*|(?P<oid>[0-9a-f]{40})(?:\s.*)?", re.DOTALL)
_PACKED = re.compile(rb"(?:[0-9a-f]{40} [^\n]++\n|[#^][^\n]*+\n|\n)*+")
MAX_REF_BYTES = 4096


class RefFiles(NamedTuple):
    """The content of the ref files: loose refs by name (None if damaged), and the bytes of `packed-refs`."""

    loose: dict[str, str | None]
    packed: bytes

    def state_of(self, prefixes: tuple[str, ...]) -> str:
        """Return a digest that changes whenever a ref with one of the prefixes changes.

        It also changes if such refs are packed, or if any other ref in `packed-refs` changes.
        """
        digest = hashlib.sha256(self.packed)
        loose = sorted(item for item in self.loose.items() if item[0].startswith(prefixes))
        digest.update(repr(loose).encode("utf-8", "backslashreplace"))
        return digest.hexdigest()

    def list_damaged(self, prefixes: tuple[str, ...]) -> list[str]:
        """Return the refs with one of the prefixes whose files are damaged, sorted by name.

        A file that is not a regular file is damaged, and so is a symbolic link to a directory.
        """
        return sorted(name for name, value in self.loose.items() if value is None and name.startswith(prefixes))

    def list_refs(self, prefixes: tuple[str, ...]) -> dict[str, str]:
        """Return all refs whose names begin with one of the prefixes, sorted by name; a symbolic ref as `ref: <name>`.

        A ref whose loose file is damaged is left out; its value in `packed-refs` is older and is not used.

        Raises:
            Corrupt: `packed-refs` is damaged.
        """
        _check_packed(self.packed)
        refs: dict[str, str | None] = {**parse_packed_refs(self.packed, prefixes), **self.loose}
        return {name: value for name, value in sorted(refs.items()) if value is not None}


def read_loose_ref(store: str, name: str) -> str | None:
    """Return the value of a ref that has a file of its own; None if it has none.

    Raises:
        ValueError: the file is damaged.
        OSError: it cannot be read.
    """
    try:
        value = _read_loose(f"{store}/{name}")
    except (FileNotFoundError, NotADirectoryError):
        return None
    if value is None and not os.path.isdir(f"{store}/{name}"):
        raise ValueError(name)
    return value


def read_ref_files(store: str, prefixes: tuple[str, ...]) -> RefFiles:
    """Read the files of the refs whose names begin with one of the prefixes.

    Raises:
        OSError: a file cannot be read.
    """
    loose = {name: value for prefix in prefixes for name, value in _walk_loose(store, *_split(prefix), _read_loose)}
    return RefFiles(loose, read_packed_refs(store))


def list_ref_names(store: str, prefixes: tuple[str, ...]) -> set[str]:
    """Return the names of the refs that begin with one of the prefixes, also of damaged ones.

    Raises:
        Corrupt: `packed-refs` is damaged.
        OSError: a directory cannot be read.
    """
    walks = (_walk_loose(store, *_split(prefix), lambda path: path) for prefix in prefixes)
    names = {name for walk in walks for name, _ in walk}
    packed = read_packed_refs(store)
    _check_packed(packed)
    names.update(parse_packed_names(packed, prefixes))
    return names


@lru_cache(maxsize=1)  # a command that reads many refs checks the same content again and again
def _check_packed(packed: bytes) -> None:
    if not _PACKED.fullmatch(packed):
        raise Corrupt("packed-refs of the store is damaged", hint="repair it: scopes repair")


def _split(prefix: str) -> tuple[str, str]:
    directory, _, start = prefix.rpartition("/")
    return directory, start


def _walk_loose(
    store: str, directory: str, start: str, read: Callable[[str], str | None]
) -> Iterator[tuple[str, str | None]]:
    """Yield name and value of every loose ref in a directory whose file name begins with `start`; None if damaged.

    Symbolic links to directories are not followed.
    """
    pending = [(directory, start)]
    while pending:
        directory, start = pending.pop()
        try:
            with os.scandir(os.path.join(store, directory)) as entries:
                matching = [entry for entry in entries if entry.name.startswith(start)]
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            if error.errno not in UNUSABLE:
                raise
            yield directory, None  # too deep, or a loop of links
            continue
        for entry in matching:
            name = f"{directory}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                pending.append((name, ""))
            elif not name.endswith(".lock"):
                try:
                    yield name, read(entry.path)
                except FileNotFoundError:
                    continue  # deleted, or packed: `packed-refs` is read next


def _read_loose(path: str) -> str | None:
    try:
        content = read_regular(path, MAX_REF_BYTES)
    except UnusableFile:
        return None
    match = _LOOSE.fullmatch(content.decode("utf-8", "surrogateescape"))
    if match is None:
        return None
    return match["oid"] or SYMBOLIC + match["name"]
