"""Which conversations are redacted copies, and of which ones.

A ref of this machine alone says it: `refs/scopes/local/redacted/<root of the copy>`, with the root of the original in
its map. On another machine a copy is a conversation as any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from scopes.errors import Corrupt, Invalid, NotFound
from scopes.history.id_map import read_map
from scopes.history.revisions import conversation_ids, find_root_commit
from scopes.ids import ConversationId, Oid
from scopes.store.refs import REDACTED
from scopes.store.repository import Repository, read_commit_stub


class RedactedCopy(NamedTuple):
    """A redacted copy; `original` is None if that is not in the store any more."""

    copy: ConversationId
    original: ConversationId | None


def find_original(repository: Repository, conversation: ConversationId) -> RedactedCopy | None:
    """Return of what a conversation is a redacted copy; None if it is none that was made here."""
    return next((each for each in list_copies(repository) if each.copy == conversation), None)


def list_copies(repository: Repository) -> list[RedactedCopy]:
    """Return the redacted copies that were made here, in the order of their ids."""
    maps = {Oid(ref.removeprefix(REDACTED)): Oid(oid) for ref, oid in repository.list_refs(REDACTED).items()}
    if not maps:
        return []
    roots = {root: name for name, root in _walk_roots(repository)}
    originals = {root: _read_original(repository, found) for root, found in maps.items() if root in roots}
    rows = (RedactedCopy(roots[copy], None if root is None else roots.get(root)) for copy, root in originals.items())
    return sorted(rows)


def _walk_roots(repository: Repository) -> Iterator[tuple[ConversationId, Oid]]:
    for name in conversation_ids(repository):
        with suppress(Corrupt, NotFound):
            root = find_root_commit(repository, name)
            if root is not None:
                yield name, root


def _read_original(repository: Repository, commit: Oid) -> Oid | None:
    """Return the root of the original that a map names; None for a damaged map."""
    with suppress(Corrupt, NotFound, Invalid):
        root = read_map(repository, read_commit_stub(repository, commit).tree).get("root")
        return Oid(root) if isinstance(root, str) else None
    return None
