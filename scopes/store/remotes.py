"""The small JSON files of a store, above all the one with the addresses of its remotes.

A file is replaced as a whole: a reader sees the old one or the new one. The later repositories of a remote, `name-2` to
`name-100`, are entries of their own. `sync` checks the addresses; nothing here uses the network.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from scopes.clock import random_bytes
from scopes.errors import Corrupt
from scopes.lazy_patterns import compile_lazily
from scopes.model import encoding
from scopes.regular_file import read_regular, sync
from scopes.store.objects import translated
from scopes.store.refs import GONE_FILE, REMOTES_FILE

_MAX_BYTES: Final = 64 << 20
_UNFINISHED: Final = ".lock"  # `gc` also removes files with it
MAX_REPOSITORIES: Final = 100
_ADDRESS = compile_lazily(r"(?P<stem>.*?[^/:])(?P<ending>(?:\.git)?)/*")
_NUMBERED = compile_lazily(r"(?P<stem>.*[^/:])-(?P<number>[2-9]|[1-9][0-9]|100)")
_NO_NAMES: Final = frozenset({".git", ".", "..", "~"})
FILE: Final = REMOTES_FILE
ORIGIN: Final = "origin"
DEFAULT: Final = "scopes.defaultRemote"  # the setting that names the remote of commands which name none
BUNDLE: Final = "bundle"  # what came from the last bundle is known under this name, which no remote has
_VERSION: Final = 1


def read_json(store: str, name: str) -> Any:
    """Return the content of a file; None if there is none.

    Raises:
        Corrupt: it is damaged.
    """
    path = os.path.join(store, name)
    try:
        return json.loads(read_regular(path, _MAX_BYTES))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise Corrupt(f"{path} cannot be read", hint="move the file away, and run the command again") from error


def read_sets(store: str, name: str, field: str) -> dict[str, frozenset[str]]:
    """Return a field of a file that maps names to lists of texts; an empty dict if there is no such file or field.

    Raises:
        Corrupt: the file is damaged.
    """
    return {key: frozenset(map(str, found)) for key, found in _read_field(store, name, field).items()}


def read_texts(store: str, name: str, field: str) -> dict[str, dict[str, str]]:
    """Return a field of a file that maps names to objects of texts, as `read_sets` does."""
    found = _read_field(store, name, field)
    if not all(isinstance(texts, dict) for texts in found.values()):
        raise Corrupt(f"{os.path.join(store, name)} is damaged", hint="move the file away, and run the command again")
    return {key: {str(inner): str(text) for inner, text in texts.items()} for key, texts in found.items()}


def _read_field(store: str, name: str, field: str) -> dict[str, Any]:
    document = read_json(store, name)
    known = document.get(field) if isinstance(document, dict) and document.get("v") == 1 else None
    return {str(key): found for key, found in known.items()} if isinstance(known, dict) else {}


def write_json(store: str, name: str, document: Mapping[str, Any] | None) -> None:
    """Replace a file, durably; None deletes it. Call it under the exclusive lock.

    Raises:
        Inaccessible: it cannot be written; it is as it was.
    """
    path = os.path.join(store, name)
    unfinished = f"{path}.{random_bytes(4).hex()}{_UNFINISHED}"
    with translated(f"write {name}", store):
        _remove_unfinished(store, name)
        try:
            if document is None:
                with suppress(FileNotFoundError):
                    os.unlink(path)
            else:
                with open(
                    os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb"
                ) as file:
                    file.write(encoding.dump(dict(document)))
                    file.flush()
                    os.fsync(file.fileno())
                os.rename(unfinished, path)
            sync(store)
        finally:
            with suppress(OSError):
                os.unlink(unfinished)


def _remove_unfinished(store: str, name: str) -> None:
    """Remove what a process that was killed has left of a file; whoever writes it has the exclusive lock."""
    left = (each for each in os.listdir(store) if each.startswith(f"{name}.") and each.endswith(_UNFINISHED))
    for each in left:
        os.unlink(os.path.join(store, each))


class NextRepository(NamedTuple):
    """The repository after another one: its number, and its address."""

    number: int
    address: str


def find_next(address: str) -> NextRepository | None:
    """Return the repository after the one with an address; None if it has no name that can be numbered."""
    found = _ADDRESS.fullmatch(address)
    if found is None or address.rstrip("/").rpartition("/")[2].rpartition(":")[2] in _NO_NAMES:
        return None
    numbered = _NUMBERED.fullmatch(found["stem"])
    stem, number = (found["stem"], 1) if numbered is None else (numbered["stem"], int(numbered["number"]))
    if number >= MAX_REPOSITORIES:
        return None
    return NextRepository(number + 1, f"{stem}-{number + 1}{found['ending']}")


def find_first(addresses: Mapping[str, str], name: str) -> str:
    """Return the name of the first repository of the remote to which one belongs; it may be that one."""
    found = _NUMBERED.fullmatch(name)
    if found is None:
        return name
    first = found["stem"]
    is_one = first in addresses and find_first(addresses, first) == first and name in list_family(addresses, first)
    return first if is_one else name


def list_firsts(addresses: Mapping[str, str]) -> list[str]:
    """Return the names of the remotes without those of their later repositories."""
    return [name for name in addresses if find_first(addresses, name) == name]


def list_family(addresses: Mapping[str, str], name: str) -> list[str]:
    """Return the names of the repositories of a remote, the oldest first; `addresses` are those of all remotes."""
    names = [name]
    following = find_next(addresses[name])
    while following is not None and addresses.get(f"{name}-{following.number}") == following.address:
        names.append(f"{name}-{following.number}")
        following = find_next(following.address)
    return names


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
