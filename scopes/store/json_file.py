"""A small JSON file of a store, replaced as a whole: a reader sees the old one or the new one."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from scopes.clock import random_bytes
from scopes.errors import Corrupt
from scopes.model import encoding
from scopes.regular_file import read_regular
from scopes.store.error_translation import translated
from scopes.store.init import sync

_MAX_BYTES: Final = 64 << 20
_UNFINISHED: Final = ".lock"  # `gc` also removes files with it


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
