"""A purge in progress: hashes of what is purged, in a file of the store until all of it is gone.

Before the refs are moved nothing has changed; after that the content is unreachable, but still on the disk. In both
cases `purge --continue` does the rest. The file has no content and no id.
"""

from __future__ import annotations

from typing import Any, Final

from scopes.errors import Corrupt, Refused
from scopes.history.sources import Parts, Purged
from scopes.store.config import read_json, write_json
from scopes.store.repository import Repository

FILE: Final = "unfinished-purge.json"
CONTINUE: Final = "finish it: scopes purge --continue"


def find_unfinished(store: str) -> Purged | None:
    """Return the list of an interrupted purge; None if there is none.

    Raises:
        Corrupt: the file is damaged.
    """
    match read_json(store, FILE):
        case None:
            return None
        case {"v": 1, "messages": dict(messages), "conversations": list(roots)}:
            return Purged({str(name): _parts(value) for name, value in messages.items()}, frozenset(map(str, roots)))
    raise Corrupt(f"{FILE} of the store {store} is damaged", hint="remove it, and purge again")


def _parts(value: object) -> Parts:
    return frozenset(map(int, value)) if isinstance(value, list) else None


def begin(repository: Repository, purged: Purged) -> None:
    """Record what is purged, before anything is changed."""
    messages: dict[str, Any] = {
        name: None if parts is None else sorted(parts) for name, parts in purged.messages.items()
    }
    document = {"v": 1, "messages": messages, "conversations": sorted(purged.conversations)}
    write_json(repository.path, FILE, document)


def end(repository: Repository) -> None:
    """Delete the record after all of it is gone."""
    write_json(repository.path, FILE, None)


def refuse_unfinished(repository: Repository) -> None:
    """Raise Refused if a purge was interrupted; for operations that must not happen in the middle of one.

    Raises:
        Refused: a purge was interrupted.
    """
    if find_unfinished(repository.path) is not None:
        raise Refused("a purge was interrupted: what it removes is still on the disk", hint=CONTINUE)
