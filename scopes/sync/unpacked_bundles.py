"""Unpack a bundle before something is fetched from it: git would take the whole of it, whatever is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from scopes.store.quarantine import open_quarantine
from scopes.store.repository import Repository
from scopes.sync.addresses import Address
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.git_transport import is_bundle
from scopes.sync.remotes import Remote


@contextmanager
def unpacked(
    repository: Repository, remote: Remote, connection: Connection, *, alone: bool = False
) -> Iterator[Remote]:
    """Yield a remote of which parts can be fetched: instead of a bundle a directory with what it has.

    Nothing in the directory was checked. It is removed at the end of the block.

    alone: read all of the bundle; otherwise git does not read objects that the store has, and misses damage there

    Raises:
        Corrupt: git cannot read the bundle, or it does not have all that its refs reach.
    """
    if remote.address.transport != "directory" or not is_bundle(remote.address.text):
        yield remote
        return
    made = open_quarantine(repository.path, {}, borrows=False) if alone else quarantine_of(repository)
    with made as directory:
        connection.open(directory, remote.address).unpack_bundle()
        yield remote._replace(address=Address(directory.path, "directory"))
