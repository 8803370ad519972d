"""Walks over commits: the one order in which messages are shown, and questions of ancestry."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from scopes.errors import NotFound
from scopes.ids import Oid
from scopes.store.libgit2 import pygit2
from scopes.store.objects import Commit
from scopes.store.repository import Objects, Repository, read_commit


def walk_newest_first(objects: Objects, tips: Iterable[Oid], hidden: Container[Oid] = ()) -> Iterator[Commit]:
    """Yield every commit reachable from the tips once, children before parents, without passing hidden commits.

    Each side of a merge stays whole, the second parent's stretch above the first's; of several tips the last comes
    first. A line without merges is read as it is walked, so the first rows come at once however long it is.
    """
    pending = list(dict.fromkeys(tips))
    if len(pending) == 1 and pending[0] not in hidden:
        oid: Oid | None = pending[0]
        while oid is not None and oid not in hidden:
            commit = read_commit(objects, oid)
            if len(commit.parents) > 1:
                break
            yield commit
            oid = commit.parents[0] if commit.parents else None
        pending = [oid] if oid is not None and oid not in hidden else []
    if pending:
        yield from reversed(_oldest_first(objects, pending, hidden))


def walk_oldest_first(objects: Objects, tips: Iterable[Oid], hidden: Container[Oid] = ()) -> Iterator[Commit]:
    """Yield the same commits, parents before children."""
    yield from _oldest_first(objects, list(dict.fromkeys(tips)), hidden)


def _oldest_first(objects: Objects, tips: list[Oid], hidden: Container[Oid]) -> list[Commit]:
    """Order by depth-first search, parents in their order, with a stack of our own: histories are deep."""
    done: set[Oid] = set()
    order: list[Commit] = []
    stack: list[tuple[Oid, Commit | None]] = [(tip, None) for tip in reversed(tips)]
    while stack:
        oid, commit = stack.pop()
        if commit is not None:
            order.append(commit)
        elif oid not in done and oid not in hidden:
            done.add(oid)
            commit = read_commit(objects, oid)
            stack.append((oid, commit))
            stack.extend((parent, None) for parent in reversed(commit.parents) if parent not in done)
    return order


def is_ancestor(repository: Repository, ancestor: Oid, descendant: Oid) -> bool:
    """Tell whether `ancestor` is reachable from `descendant`; a commit is its own ancestor.

    Raises:
        NotFound: one of them is not in the store.
    """
    if ancestor == descendant:
        return True
    try:
        return repository.walker.descendant_of(pygit2.Oid(hex=descendant), pygit2.Oid(hex=ancestor))
    except (KeyError, ValueError, pygit2.GitError) as error:
        raise NotFound(f"commit {ancestor} or {descendant} is not in the store", hint="see: scopes verify") from error
