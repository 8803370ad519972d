"""The file of a store with the addresses of its remotes by name. Git never reads it; what is in it is not checked here.

Whoever made a store may have written the file: `sync.remotes` checks every name and address when it is used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from scopes.errors import Corrupt
from scopes.store.json_file import read_json, read_sets, write_json
from scopes.store.refs import GONE_FILE, REMOTES_FILE
from scopes.store.remote_family import find_first, list_firsts

FILE: Final = REMOTES_FILE
ORIGIN: Final = "origin"
DEFAULT: Final = "scopes.defaultRemote"  # the setting that names the remote of commands which name none
BUNDLE: Final = "bundle"  # what came from the last bundle is known under this name, which no remote has
_VERSION: Final = 1


def read_addresses(store: str) -> dict[str, str]:
    """Return the addresses by name, unchecked.

    Raises:
        Corrupt: the file is damaged.
    """
    return {name: address for name, (address, _) in read_entries(store).items()}


def read_entries(store: str) -> dict[str, tuple[str, bool]]:
    """Return the addresses by name, unchecked, and whether conversations are branches there.

    Raises:
        Corrupt: the file is damaged.
    """
    document = _read(store)
    branches = document.get("as_branches", [])
    if not isinstance(branches, list):
        raise _damaged(os.path.join(store, FILE))
    return {name: (address, name in branches) for name, address in document["remotes"].items()}


def find_default(store: str, setting: str | None) -> str | None:
    """Return which remote a command is about if it names none; None if that is not clear.

    It is the one that the setting names, whether it exists or not; else `origin`, the first one that was added, or the
    only one. A later repository of a remote stands for that remote.

    Raises:
        Corrupt: the file is damaged.
    """
    if setting:
        return find_first(read_addresses(store), setting)
    document = _read(store)
    names, first = document["remotes"], document.get("first")
    if ORIGIN in names:
        return ORIGIN
    return _only(names) if first is None or first not in names else find_first(names, first)


def read_first(store: str) -> str | None:
    """Return the remote that was added first, if that is known; raises as `find_default` does."""
    first: str | None = _read(store).get("first")
    return first


def _only(addresses: Mapping[str, str]) -> str | None:
    names = list_firsts(addresses)
    return names[0] if len(names) == 1 else None


def _read(store: str) -> dict[str, Any]:
    try:
        document = read_json(store, FILE)
    except Corrupt as error:
        raise _damaged(os.path.join(store, FILE)) from error
    match document:
        case None:
            return {"remotes": {}}
        case {"v": 1, "remotes": dict(found)} if all(isinstance(each, str) for each in found.values()):
            if isinstance(document.get("first", ""), str):
                return {**document}
    raise _damaged(os.path.join(store, FILE))


def read_gone(store: str) -> dict[str, frozenset[str]]:
    """Return the roots of conversations that remotes had and have no more, by the name of the remote.

    `purge.gone_there` says when they get into the file.

    Raises:
        Corrupt: the file is damaged.
    """
    return read_sets(store, GONE_FILE, "remotes")


def _damaged(path: str) -> Corrupt:
    return Corrupt(f"the list of remotes cannot be read: {path}", hint="remove the file, and add the remotes again")


def write_entries(store: str, entries: Mapping[str, tuple[str, bool]], first: str | None = None) -> None:
    """Replace the file as a whole; a reader sees the old one or the new one. Call it under the exclusive lock.

    first: the remote that was added first; None if that is the same as before

    Raises:
        Inaccessible: the file cannot be written.
    """
    document: dict[str, Any] = {"v": _VERSION, "remotes": {name: address for name, (address, _) in entries.items()}}
    branches = sorted(name for name, (_, as_branches) in entries.items() if as_branches)
    document |= {"as_branches": branches} if branches else {}
    first = first or read_first(store)
    first = first if first in entries else _only(document["remotes"])
    document |= {} if first is None else {"first": first}
    write_json(store, FILE, document)
