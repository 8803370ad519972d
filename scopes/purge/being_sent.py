"""Ref values that are being pushed: a file of the store with them until the remote has answered.

No ref of the store has these values yet, but the remote may have accepted them, also if the push was killed. A purge in
between records those with purged content, like values that a remote is known to have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from scopes.store.config import read_texts, write_json
from scopes.store.repository import Repository

FILE: Final = "being-sent.json"


def read_being_sent(store: str) -> dict[str, dict[str, str]]:
    """Return the values being pushed, by name of the remote and ref there.

    Raises:
        Corrupt: the file is damaged.
    """
    return read_texts(store, FILE, "remotes")


def begin_to_send(repository: Repository, remote: str, values: Mapping[str, str]) -> None:
    """Remember values before they are sent; call it under the exclusive lock."""
    if values:
        known = read_being_sent(repository.path)
        _write(repository, {**known, remote: {**known.get(remote, {}), **values}})


def end_to_send(repository: Repository, remote: str, on_remote: Iterable[str]) -> None:
    """Forget the values of refs about which the remote has answered; call it under the exclusive lock."""
    known = read_being_sent(repository.path)
    sent, answered = known.get(remote, {}), set(on_remote)
    if not answered.isdisjoint(sent):
        _write(repository, {**known, remote: {ref: value for ref, value in sent.items() if ref not in answered}})


def _write(repository: Repository, known: Mapping[str, Mapping[str, str]]) -> None:
    kept = {name: values for name, values in known.items() if values}
    write_json(repository.path, FILE, {"v": 1, "remotes": kept} if kept else None)
