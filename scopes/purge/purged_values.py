"""All values that refs of remotes had before content was purged from them: a file of the store, which only grows.

A remote that was restored from a backup has one of these values again. A push finds it in this file, so that it was not
written by somebody else, and replaces it. A value is the id of a commit; the file has no other data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from scopes.errors import NotFound
from scopes.ids import Oid
from scopes.store.config import read_sets, write_json
from scopes.store.objects import read_commit
from scopes.store.repository import Repository

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
    """Return the value `old` and the manifests before it that are not in the history of the rewritten value `new`."""
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
