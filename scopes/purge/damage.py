"""Defects of purges, for `verify`: an interrupted purge, and entries of the list that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.errors import ScopesError
from scopes.history.sources import decode_parts, is_entry
from scopes.ids import Oid
from scopes.purge.unfinished import CONTINUE, FILE, find_unfinished
from scopes.store.objects import read_blob, read_commit, walk_blobs
from scopes.store.refs import PURGED
from scopes.store.repository import Repository
from scopes.store.verify import Finding


def walk_purge_defects(repository: Repository) -> Iterator[Finding]:
    """Yield a finding for a purge that was interrupted, and for each entry of the list that cannot be read."""
    try:
        if find_unfinished(repository.path) is not None:
            yield Finding("error", FILE, "a purge was interrupted: what it removes is still on the disk", CONTINUE)
    except ScopesError as error:
        yield Finding("error", FILE, error.message, error.hint)
    value = repository.find_ref(PURGED)
    if value is None:
        return
    try:
        for path, oid in walk_blobs(repository, read_commit(repository, Oid(value)).tree):
            try:
                if is_entry(path):
                    decode_parts(read_blob(repository, oid))
            except ScopesError as error:
                yield Finding("error", f"{PURGED}:{path}", error.message, "purge the same content again")
    except ScopesError as error:
        yield Finding("error", PURGED, error.message, error.hint)
