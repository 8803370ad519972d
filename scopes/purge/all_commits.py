"""Every commit that a ref or an operation of the store reaches, parents before children."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scopes.errors import NotFound
from scopes.history.messages import is_root
from scopes.ids import Oid
from scopes.store.objects import COMMIT, Commit, parse_commit
from scopes.store.repository import Objects

_OWN_EMAIL = "scopes@systems.scopes"
_OPERATION = "Scopes-Operation"


def walk_all_commits(objects: Objects, tips: Iterable[Oid]) -> Iterator[tuple[Commit, bytes]]:
    """Yield each commit below some tips with its bytes, every parent before its children.

    What is no commit, or is missing, is left out: it has nothing that could be rewritten.
    """
    done: set[Oid] = set()
    waiting: list[tuple[Oid, tuple[Commit, bytes] | None]] = [(tip, None) for tip in tips]
    while waiting:
        oid, found = waiting.pop()
        if oid in done:
            continue
        if found is None:
            found = _find(objects, oid)
            if found is None:
                done.add(oid)
                continue
            missing = [parent for parent in found[0].parents if parent not in done]
            if missing:
                waiting.append((oid, found))
                waiting += [(parent, None) for parent in reversed(missing)]
                continue
        done.add(oid)
        yield found


def _find(objects: Objects, oid: Oid) -> tuple[Commit, bytes] | None:
    try:
        kind, data = objects.read(oid)
    except NotFound:
        return None
    return (parse_commit(oid, data), data) if kind == COMMIT else None


def is_history(commit: Commit) -> bool:
    """Return True for a commit of a conversation: of a message, a root, or of another program on a branch."""
    return commit.message_id is not None or is_root(commit) or commit.author.email != _OWN_EMAIL


def is_operation(commit: Commit) -> bool:
    """Return True for a commit of the operation log."""
    return _OPERATION in commit.trailers
