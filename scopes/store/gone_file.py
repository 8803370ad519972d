"""The file with the conversations that remotes had and have no more: `purge.gone_there` says when they get into it."""

from __future__ import annotations

from typing import Final

from scopes.store.json_file import read_sets
from scopes.store.refs import GONE_FILE

FILE: Final = GONE_FILE


def read_gone(store: str) -> dict[str, frozenset[str]]:
    """Return the roots of conversations that remotes have no more, by the name of the remote.

    Raises:
        Corrupt: the file is damaged.
    """
    return read_sets(store, FILE, "remotes")
