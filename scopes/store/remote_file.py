"""The file of a store with the addresses of its remotes by name. Git never reads it; what is in it is not checked here.

Whoever made a store may have written the file: `sync.remotes` checks every name and address when it is used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, Final

from scopes.clock import random_bytes
from scopes.errors import Corrupt
from scopes.model import encoding
from scopes.regular_file import read_regular
from scopes.store.error_translation import translated
from scopes.store.init import sync
from scopes.store.refs import REMOTES_FILE

FILE: Final = REMOTES_FILE
ORIGIN: Final = "origin"
BUNDLE: Final = "bundle"  # what came from the last bundle is known under this name, which no remote has
_VERSION: Final = 1
_MAX_BYTES: Final = 4 << 20


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
    path = os.path.join(store, FILE)
    try:
        document: Any = json.loads(read_regular(path, _MAX_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path) from error
    match document:
        case {"v": 1, "remotes": dict(found)} if all(isinstance(each, str) for each in found.values()):
            branches = document.get("as_branches", [])
            if isinstance(branches, list):
                return {name: (address, name in branches) for name, address in found.items()}
    raise _damaged(path)


def choose_default(names: Collection[str]) -> str | None:
    """Return which of some remotes a command is about if none is named: `origin`, or the only one."""
    if ORIGIN in names or len(names) != 1:
        return ORIGIN if ORIGIN in names else None
    return next(iter(names))


def _damaged(path: str) -> Corrupt:
    return Corrupt(f"the list of remotes cannot be read: {path}", hint="remove the file, and add the remotes again")


def write_entries(store: str, entries: Mapping[str, tuple[str, bool]]) -> None:
    """Replace the file as a whole; a reader sees the old one or the new one. Call it under the exclusive lock.

    Raises:
        Inaccessible: the file cannot be written.
    """
    path = os.path.join(store, FILE)
    unfinished = f"{path}.{random_bytes(4).hex()}.lock"  # `gc` removes it by its suffix if this process dies
    document: dict[str, Any] = {"v": _VERSION, "remotes": {name: address for name, (address, _) in entries.items()}}
    branches = sorted(name for name, (_, as_branches) in entries.items() if as_branches)
    document |= {"as_branches": branches} if branches else {}
    with translated("write the list of remotes", store):
        try:
            with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(encoding.dump(document))
                file.flush()
                os.fsync(file.fileno())
            os.rename(unfinished, path)
            sync(store)
        finally:
            with suppress(OSError):
                os.unlink(unfinished)
