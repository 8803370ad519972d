"""Where a branch ends for others: the last message of an imported session that still grows is not shared."""

from __future__ import annotations

from typing import Any, Final

from scopes.history.messages import is_root, read_message_bytes_at
from scopes.ids import Oid
from scopes.model import encoding
from scopes.store.repository import Repository, read_commit

_OPEN: Final = "open"
_MARK: Final = b'"open":true'


def closed_tip(repository: Repository, tip: Oid) -> Oid:
    """Return the newest commit at or below a tip whose message cannot change any more."""
    commit = read_commit(repository, tip)
    while not is_root(commit) and commit.parents and _is_open(read_message_bytes_at(repository, commit.tree)):
        commit = read_commit(repository, commit.parents[0])
    return commit.oid


def _is_open(data: bytes) -> bool:
    document: Any = encoding.load(data) if _MARK in data else None
    return isinstance(document, dict) and document.get(_OPEN) is True
