"""Every commit that a ref or an operation of the store reaches, parents before children."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from scopes.errors import NotFound
from scopes.history.messages import is_root
from scopes.ids import Oid
from scopes.store.objects import COMMIT, Commit, Objects, parse_commit
from scopes.store.operations import is_operation

_OWN_EMAIL = "scopes@systems.scopes"


def walk_all_commits(objects: Objects, tips: Iterable[Oid]) -> Iterator[tuple[Commit, bytes]]:
    """Yield each commit below some tips with its bytes, every parent before its children.

    Tips that are missing or are not commits are left out: nothing in them can be rewritten.
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
    """Return True for a commit of a conversation: a message, a root, or a commit of another program on a branch."""
    return commit.message_id is not None or is_root(commit) or commit.author.email != _OWN_EMAIL


def list_operations(objects: Objects, newest: Oid | None) -> set[Oid]:
    """Return the commits of the operation log, given the newest: other commits are not operations, whatever they claim.

    The first parent of an operation is the operation before it. The log ends at a missing one.
    """
    listed: set[Oid] = set()
    found = None if newest is None else _find(objects, newest)
    while found is not None and is_operation(found[0]):
        commit = found[0]
        listed.add(commit.oid)
        found = _find(objects, commit.parents[0]) if commit.parents else None
    return listed


def walk_known(tips: Iterable[Oid], parents: Mapping[Oid, Sequence[Oid]]) -> Iterator[Oid]:
    """Yield the commits reachable from tips by `parents` (commit to parents) that are keys of it, each once."""
    waiting, seen = [*tips], set[Oid]()
    while waiting:
        oid = waiting.pop()
        if oid in parents and oid not in seen:
            seen.add(oid)
            yield oid
            waiting += parents[oid]
