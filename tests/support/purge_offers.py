"""Lists of what was purged, as another machine, or somebody with a grudge, puts them on a remote."""

from __future__ import annotations

from collections.abc import Iterable

from scopes.history.sources import Purged, purged_of, write_purged
from scopes.store.repository import Repository
from scopes.sync.purged_lists import ON_REMOTE
from tests.support.store import git

STRANGER = "0123456789ab"


def offer_list(store: Repository, bare: str, listed: Purged, machine: str = STRANGER, sign=bytes) -> str:
    """Put a list on a remote as that of a machine, through a store that keeps nothing of it; return its commit."""
    oid = write_purged(store, listed, sign)
    git(store.path, "push", "-q", "--force", bare, f"{oid}:{ON_REMOTE}{machine}")
    return oid


def everything_of(roots: Iterable[str] = (), messages: Iterable[str] = ()) -> Purged:
    """Return a list of whole messages, and of conversations by their roots."""
    return purged_of(dict.fromkeys(messages), roots)
