"""Every value that refs of remotes had before something was purged from it: a file of the store, which only grows.

A remote that comes back from a backup has one of them again. By this list a push knows that nobody else wrote it, and
replaces it. A value is the id of a commit, and means the same on every remote. The file has nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from scopes.errors import NotFound
from scopes.ids import Oid
from scopes.store.json_file import read_sets, write_json
from scopes.store.repository import Repository, read_commit

FILE: Final = "purged-values.json"
_MANIFEST: Final = "manifest"


def read_purged_values(store: str) -> dict[str, frozenset[Oid]]:
    """Return the values that are purged, by ref on a remote.

    Raises:
        Corrupt: the file is damaged.
    """
    return {ref: frozenset(map(Oid, values)) for ref, values in read_sets(store, FILE, "refs").items()}


def add_purged_values(repository: Repository, values: Mapping[str, Iterable[Oid]]) -> None:
    """Remember values that were purged, by ref on a remote; call it under the exclusive lock."""
    known = read_purged_values(repository.path)
    joined = {**known, **{ref: known.get(ref, frozenset()).union(new) for ref, new in values.items()}}
    if joined != known:
        write_json(repository.path, FILE, {"v": 1, "refs": {ref: sorted(joined[ref]) for ref in sorted(joined)}})


def list_replaced(repository: Repository, old: str, new: str | None) -> set[Oid]:
    """Return a value and those before it, as far as a rewritten value does not have them in its own history."""
    kept = set() if new is None else set(_walk_manifests(repository, new))
    return {each for each in _walk_manifests(repository, old) if each not in kept}


def _walk_manifests(repository: Repository, value: str) -> Iterator[Oid]:
    """Yield a value and the manifests before it; a value that is no manifest has none."""
    yield Oid(value)
    try:
        commit = read_commit(repository, Oid(value))
        while commit.kind == _MANIFEST and commit.parents:
            commit = read_commit(repository, commit.parents[0])
            if commit.kind == _MANIFEST:
                yield commit.oid
    except NotFound:  # `verify` names it
        return
