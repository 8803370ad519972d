"""Decide whether the commit graph of a store is used: only one that gc wrote, or that was compared with the commits.

Whoever made a store can have written any graph into it. So the checksums of right graphs are kept outside the store, in
the directory of its index, with the stamp (size, times, inode) of the last one: to look that up reads no graph. A graph
agrees with the commits that it names or it does not, in whatever store it is: a kept checksum is never outdated.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, Final

from scopes.loading import load
from scopes.regular_file import read_regular
from scopes.store.commit_graph import CommitGraph, graph_path, read_commit_graph
from scopes.store.libgit2 import OPEN_EXACTLY_HERE, pygit2
from scopes.store.loose import LooseReader

if TYPE_CHECKING:
    from scopes.store.repository import Repository

FILE: Final = "commit-graphs"
_MAX_CHECKSUMS: Final = 16
_MAX_BYTES: Final = 4096
_PRIORITY_ABOVE_LIBGIT2: Final = 3


def open_graph(repository: Repository, *, compare: bool) -> CommitGraph | None:
    """Return the commit graph of a store if it is right; None if there is none, or it is wrong or damaged.

    compare: whether an unknown graph is compared with the commits, which takes time in proportion to them; a wrong one
    is reported to the user. Otherwise an unknown graph is not used.
    """
    stamp = _stamp(repository)
    if stamp is None:
        return None
    known = _read_known(repository)
    if not compare and not known:
        return None
    graph = read_commit_graph(os.path.join(repository.path, "objects"))
    if graph is None:
        return None
    if graph.checksum not in known[1:]:
        if not compare:
            return None
        problem: str | None = load("scopes.store.graph_check:find_problem")(repository, graph.data)
        if problem is not None:
            repository.report_wrong_graph(f"the commit graph of the store is not used: {problem}")
            return None
    if repository.index_directory is not None and [stamp] != known[:1] and stamp == _stamp(repository):
        with contextlib.suppress(OSError):
            os.makedirs(repository.index_directory, mode=0o700, exist_ok=True)
        _keep(repository, stamp, graph.checksum, known[1:])
    return graph


def find_known_graph(repository: Repository) -> CommitGraph | None:
    """Return the commit graph of a store if it is already known to be right; nothing is compared."""
    is_open = "commit_graph" in repository.__dict__
    return repository.commit_graph if is_open else open_graph(repository, compare=False)


def open_walker(repository: Repository) -> pygit2.Repository:
    """Open a handle for libgit2's walks, which believes any commit graph: without the graph, if that is wrong."""
    objects = os.path.join(repository.path, "objects")
    git = pygit2.Repository(repository.path, OPEN_EXACTLY_HERE)
    if os.path.lexists(graph_path(objects)) and not is_known(repository) and repository.commit_graph is None:
        packs = pygit2.Odb()  # made here, it looks for no graph
        packs.add_backend(pygit2.OdbBackendPack(objects), 1)
        git.set_odb(packs)
    git.odb.add_backend(LooseReader(objects), _PRIORITY_ABOVE_LIBGIT2)
    return git


def remember_written_graph(repository: Repository) -> None:
    """Keep the checksum of the graph that git has just written; call it under the exclusive lock.

    Nothing is created for it if the store has no index yet: the graph is compared when it is used first.
    """
    stamp = _stamp(repository)
    graph = None if stamp is None else read_commit_graph(os.path.join(repository.path, "objects"))
    if stamp is not None and graph is not None:
        _keep(repository, stamp, graph.checksum, _read_known(repository)[1:])


def is_known(repository: Repository) -> bool:
    """Return True if the graph of a store has the stamp of one that is right."""
    stamp = _stamp(repository)
    return stamp is not None and [stamp] == _read_known(repository)[:1]


def _stamp(repository: Repository) -> str | None:
    """Return what changes when the graph is replaced; None if there is no regular file. A copy has another stamp."""
    try:
        found = os.lstat(graph_path(os.path.join(repository.path, "objects")))
    except OSError:
        return None
    numbers = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)
    return " ".join(map(str, numbers)) if stat.S_ISREG(found.st_mode) else None


def _read_known(repository: Repository) -> list[str]:
    """Return the stamp of the last right graph and the checksums of the last ones; nothing if none is kept."""
    if repository.index_directory is None:
        return []
    try:
        return read_regular(os.path.join(repository.index_directory, FILE), _MAX_BYTES).decode("ascii").splitlines()
    except (OSError, ValueError):
        return []


def _keep(repository: Repository, stamp: str, checksum: str, before: list[str]) -> None:
    """Write the file anew; without it the graph is compared again, so that no error matters."""
    if repository.index_directory is None:
        return
    path = os.path.join(repository.index_directory, FILE)
    kept = [checksum, *(other for other in before if other != checksum)][:_MAX_CHECKSUMS]
    temporary = f"{path}.{os.getpid()}"
    with contextlib.suppress(OSError):
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write("".join(f"{line}\n" for line in (stamp, *kept)))
        os.replace(temporary, path)
