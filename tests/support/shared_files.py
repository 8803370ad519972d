"""Files in the trees of the shared refs, such as facts and agents: read one, or replace it as another program would."""

from __future__ import annotations

import json
from typing import Any

from scopes.history.metadata import write_metadata
from scopes.history.transaction import RefTransaction
from scopes.ids import Oid
from scopes.store.objects import find_blob, read_commit, walk_blobs
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


def stored_file(repository: Repository, ref: str, end: str) -> tuple[str, bytes]:
    """Return path and content of the only file of a ref whose path ends so."""
    tree = read_commit(repository, Oid(repository.find_ref(ref) or "")).tree
    (path,) = [path for path, _ in walk_blobs(repository, tree) if path.endswith(end)]
    return path, find_blob(repository, tree, path) or b""


def change_file(repository: Repository, ref: str, end: str, data: bytes | dict[str, Any]) -> str:
    """Replace the only file whose path ends so by bytes, or change fields of its document; return its path."""
    path, old = stored_file(repository, ref, end)
    new = data if isinstance(data, bytes) else json.dumps({**json.loads(old), **data}).encode()
    write_file(repository, ref, path, new)
    return path


def write_file(repository: Repository, ref: str, path: str, data: bytes) -> None:
    """Write a file of a ref, as an operation that checks nothing."""
    commit = Oid(repository.find_ref(ref) or "")
    with exclusive_write(repository):
        transaction = RefTransaction(repository)
        transaction.move_ref(ref, commit, write_metadata(repository, commit, {path: data}, "damage"))
        transaction.commit("damage", "damage")
