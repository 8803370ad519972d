"""Walk over the history: orders, ancestors, merge bases, and what only one side has."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import heappop, heappush
from types import MappingProxyType
from typing import Final

from scopes.errors import NotFound
from scopes.ids import Oid, is_oid
from scopes.store.objects import Commit, CommitChunks, Objects, pygit2, read_commit, refusal
from scopes.store.repository import Repository

CHUNK_COMMITS: Final = 256
FEW_COMMITS: Final = 64  # a walk of fewer commits does not open the chunks, and a shorter rest is not kept
_NOTHING_KNOWN: Final[Mapping[Oid, Commit]] = MappingProxyType({})


def reader_of(objects: Objects) -> Callable[[Oid], Commit]:
    """Return the function that reads the commits of one walk; it raises as `read_commit` does."""
    open_chunks = objects.caller.open_commit_chunks if isinstance(objects, Repository) else None
    return partial(read_commit, objects) if open_chunks is None else _ChunkReader(objects, open_chunks).read


class _ChunkReader:
    """Reads the commits of one walk: a few from the store, and those after them in chunks, which are kept."""

    def __init__(self, objects: Objects, open_chunks: Callable[[], CommitChunks]) -> None:
        self._objects = objects
        self._open_chunks = open_chunks
        self._chunks: CommitChunks | None = None
        self._ahead: dict[Oid, Commit] = {}
        self._read: list[Commit] = []

    def read(self, oid: Oid) -> Commit:
        """Read a commit: the next one of a chunk, the first one of another chunk, or one in the store."""
        commit = self._ahead.pop(oid, None)
        if commit is not None:
            return commit
        if self._chunks is None and len(self._read) == FEW_COMMITS:
            self._chunks, self._read = self._open_chunks(), []
        found = self._chunks.find(oid) if self._chunks is not None and oid in self._chunks else ()
        if found:
            self._read = []
            self._ahead = {commit.oid: commit for commit in found}
            return self._ahead.pop(oid)
        commit = read_commit(self._objects, oid)
        self._read.append(commit)
        is_end = len(self._read) >= FEW_COMMITS and not commit.parents
        if self._chunks is not None and (len(self._read) == CHUNK_COMMITS or is_end):
            self._chunks.add(self._read)
            self._read = []
        return commit


def walk_newest_first(
    objects: Objects, tips: Iterable[Oid], hidden: Container[Oid] = (), known: Mapping[Oid, Commit] = _NOTHING_KNOWN
) -> Iterator[Commit]:
    """Yield every commit reachable from the tips once, children before parents; stop at hidden commits.

    The commits of each side of a merge stay together, those of the second parent before those of the first. Of several
    tips the last comes first. A linear history is read lazily, so the first commits come at once. Commits in `known`
    are not read again.
    """
    pending, read = list(dict.fromkeys(tips)), reader_of(objects)
    yield from _walk_line(read, pending, hidden, known)
    yield from reversed(_search(read, pending, hidden, known))


def walk_oldest_first(objects: Objects, tips: Iterable[Oid], hidden: Container[Oid] = ()) -> Iterator[Commit]:
    """Yield the commits of `walk_newest_first` in reverse order: parents before children."""
    pending, read = list(dict.fromkeys(tips)), reader_of(objects)
    line = list(_walk_line(read, pending, hidden, _NOTHING_KNOWN))
    yield from _search(read, pending, hidden, _NOTHING_KNOWN)
    yield from reversed(line)


def _walk_line(
    read: Callable[[Oid], Commit], pending: list[Oid], hidden: Container[Oid], known: Mapping[Oid, Commit]
) -> Iterator[Commit]:
    """Yield the linear end of a history with one tip, newest first; `pending` are then the tips of the rest."""
    while len(pending) == 1 and pending[0] not in hidden:
        commit = known.get(pending[0]) or read(pending[0])
        if len(commit.parents) > 1:
            return
        pending[:] = commit.parents
        yield commit


def _search(
    read: Callable[[Oid], Commit], tips: list[Oid], hidden: Container[Oid], known: Mapping[Oid, Commit]
) -> list[Commit]:
    """Order by depth-first search, parents in their order; not recursive, because histories are deep."""
    done: set[Oid] = set()
    order: list[Commit] = []
    stack: list[tuple[Oid, Commit | None]] = [(tip, None) for tip in reversed(tips)]
    while stack:
        oid, commit = stack.pop()
        if commit is not None:
            order.append(commit)
        elif oid not in done and oid not in hidden:
            done.add(oid)
            commit = known.get(oid) or read(oid)
            stack.append((oid, commit))
            stack.extend((parent, None) for parent in reversed(commit.parents) if parent not in done)
    return order


def is_ancestor(repository: Repository, ancestor: Oid, descendant: Oid) -> bool:
    """Return True if `ancestor` is reachable from `descendant`, or is it; raise NotFound if the store lacks one."""
    if ancestor == descendant:
        return True
    try:
        return repository.walker.descendant_of(pygit2.Oid(hex=descendant), pygit2.Oid(hex=ancestor))
    except (KeyError, ValueError, pygit2.GitError) as error:
        raise NotFound(f"commit {ancestor} or {descendant} is not in the store", hint="see: scopes verify") from error
    except OSError as error:
        raise refusal("walk over the history", repository.path, error) from error


def list_merge_bases(repository: Repository, one: Oid, two: Oid) -> tuple[Oid, ...]:
    """Return all merge bases of two commits, sorted by id; none if the histories are unrelated.

    Criss-cross merges have several. libgit2 finds one of them; if either side is linear down to it, there is no other
    one, and the full search is skipped.
    """
    try:
        found = str(repository.walker.merge_base(pygit2.Oid(hex=one), pygit2.Oid(hex=two)))
    except (KeyError, ValueError, pygit2.GitError) as error:
        raise NotFound(f"commit {one} or {two} is not in the store", hint="see: scopes verify") from error
    except OSError as error:
        raise refusal("walk over the history", repository.path, error) from error
    if not is_oid(found):  # the text is "None" if there is none
        return ()
    if _is_line_above(repository, Oid(found), (one, two)):
        return (Oid(found),)
    return drop_ancestors(repository, _paint_common(repository, one, two))


def split_histories(
    repository: Repository, one: Oid, two: Oid
) -> tuple[tuple[Oid, ...], tuple[Commit, ...], tuple[Commit, ...]]:
    """Return the merge bases of two commits, and the commits that only the one or the other reaches, oldest first."""
    bases = list_merge_bases(repository, one, two)
    return bases, list_new_commits(repository, one, two, bases), list_new_commits(repository, two, one, bases)


def drop_ancestors(repository: Repository, commits: Iterable[Oid]) -> tuple[Oid, ...]:
    """Return the commits that are not ancestors of another one of them, sorted by id."""
    candidates = sorted(set(commits))
    return tuple(
        commit
        for commit in candidates
        if not any(other != commit and is_ancestor(repository, commit, other) for other in candidates)
    )


def list_new_commits(
    repository: Repository, tip: Oid, other: Oid | None, bases: Sequence[Oid] = ()
) -> tuple[Commit, ...]:
    """Return the commits reachable from `tip` and not from `other`, parents before children.

    `bases` are the merge bases of both, if known: if the history down to one of them is linear, only it is read.
    """
    line = _read_line(repository, tip, bases)
    if line is not None:
        return line
    hidden = set() if other is None else {commit.oid for commit in walk_oldest_first(repository, [other])}
    return tuple(walk_oldest_first(repository, [tip], hidden))


def _read_line(repository: Repository, tip: Oid, bases: Sequence[Oid]) -> tuple[Commit, ...] | None:
    """Return the commits above a base up to the tip, oldest first; None if a merge or a root is among them."""
    line: list[Commit] = []
    oid = tip
    read = reader_of(repository)
    while oid not in bases:
        commit = read(oid)
        if len(commit.parents) != 1:
            return None
        line.append(commit)
        oid = commit.parents[0]
    return tuple(reversed(line))


def _is_line_above(repository: Repository, base: Oid, tips: Sequence[Oid]) -> bool:
    """Return True if the history from one of the tips down to the base is linear; both are followed in step."""
    lines = [(reader_of(repository), tip) for tip in tips]
    while lines:
        if any(oid == base for _, oid in lines):
            return True
        found = [(read, read(oid).parents) for read, oid in lines]
        lines = [(read, parents[0]) for read, parents in found if len(parents) == 1]
    return False


def _paint_common(repository: Repository, one: Oid, two: Oid) -> list[Oid]:
    """Return common ancestors of two commits by painting their histories in two colors, as git does.

    Newer commits are painted first, so that both colors meet early. Because commit times can be wrong, some results
    may be ancestors of others.
    """
    first, second, stale = 1, 2, 4
    colors = {one: first}
    colors[two] = colors.get(two, 0) | second
    heap: list[tuple[int, Oid, tuple[Oid, ...]]] = []
    for oid in colors:
        commit = read_commit(repository, oid)
        heappush(heap, (-commit.time, oid, commit.parents))
    common: dict[Oid, None] = {}
    while any(not colors[oid] & stale for _, oid, _ in heap):
        _, oid, parents = heappop(heap)
        color = colors[oid]
        if color == first | second:
            common[oid] = None
            color |= stale
        for parent in parents:
            before = colors.get(parent, 0)
            if before | color != before:
                colors[parent] = before | color
                above = read_commit(repository, parent)
                heappush(heap, (-above.time, parent, above.parents))
    return [oid for oid in common if not colors[oid] & stale]


def walk_first_parents(repository: Repository, tip: Oid) -> Iterator[Oid]:
    """Yield commits from a tip back to the root."""
    next_oid: Oid | None = tip
    while next_oid is not None:
        yield next_oid
        parents = read_commit(repository, next_oid).parents
        next_oid = parents[0] if parents else None
