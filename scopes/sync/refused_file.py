"""The file with the conversations that a fetch has refused because they have what was purged here.

It has names of refs there with their values, by the name of the remote, and nothing else. `known_refusals` says when
they get into it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from scopes.store.config import read_json, read_texts, write_json

FILE: Final = "refused-on-remotes.json"
_FIELD: Final = "remotes"


def read_refused(store: str) -> dict[str, dict[str, str]]:
    """Return the refs of conversations that were refused and their values then, by the name of the remote.

    Raises:
        Corrupt: the file is damaged.
    """
    return read_texts(store, FILE, _FIELD)


def write_refused(store: str, refused: Mapping[str, Mapping[str, str]]) -> None:
    """Replace the refs of all remotes; call it under the exclusive lock."""
    kept = {name: dict(refs) for name, refs in refused.items() if refs}
    if kept or read_json(store, FILE) is not None:
        write_json(store, FILE, {"v": 1, _FIELD: kept} if kept else None)


def forget_refused(store: str, remote: str, on_remote: Iterable[str] | None = None) -> None:
    """Remove conversations that a push has replaced, or all of a remote; call it under the exclusive lock."""
    known = read_refused(store)
    refs = known.get(remote, {})
    replaced = refs.keys() if on_remote is None else {*on_remote}
    if not refs.keys().isdisjoint(replaced):
        write_refused(store, {**known, remote: {ref: refs[ref] for ref in refs if ref not in replaced}})


def rename_refused(store: str, remote: str, new: str) -> None:
    """Move the entries of a remote to its new name; call it under the exclusive lock."""
    known = read_refused(store)
    if remote in known:
        known[new] = known.pop(remote)
        write_refused(store, known)
