"""Unpack a bundle before something is fetched from it: git would take the whole of it, whatever is asked for.

Git does not read what the store has already, and takes a list of refs that is cut for a whole one. So the file is read
to its end first: a bundle is lines, an empty line, and a pack that ends with its hash.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha1
from shlex import quote
from typing import Final

from scopes.errors import Corrupt, Refused
from scopes.store.error_translation import translated
from scopes.store.quarantine import open_quarantine
from scopes.store.repository import Repository
from scopes.sync.addresses import Address
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.git_transport import is_bundle
from scopes.sync.remotes import Remote
from scopes.sync.wrong_remotes import kind_of

_MAX_LINE: Final = 1 << 20
_PIECE: Final = 1 << 20
_HASH_BYTES: Final = 20


@contextmanager
def unpacked(
    repository: Repository, remote: Remote, connection: Connection, *, alone: bool = False
) -> Iterator[Remote]:
    """Yield a remote of which parts can be fetched: instead of a bundle a directory with what it has.

    Nothing in the directory was checked. It is removed at the end of the block.

    alone: read all of the bundle; otherwise git does not read objects that the store has, and misses damage there

    Raises:
        Refused: it is a bundle of a whole store.
        Corrupt: the file is cut or damaged, git cannot read the bundle, or it does not have all that its refs reach.
    """
    if remote.address.transport != "directory" or not is_bundle(remote.address.text):
        yield remote
        return
    _check_whole(remote.address.text)
    made = open_quarantine(repository.path, {}, borrows=False) if alone else quarantine_of(repository)
    with made as directory:
        connection.open(directory, remote.address).unpack_bundle()
        yield remote._replace(address=Address(directory.path, "directory", of_bundle=True))


def _check_whole(path: str) -> None:
    with translated("read the bundle", path), open(path, "rb") as file:
        refs: list[str] = []
        while (line := file.readline(_MAX_LINE)) != b"\n":
            if not line.endswith(b"\n"):
                raise _cut(path)
            refs.append(line.decode("utf-8", "replace").rstrip("\n").partition(" ")[2])
        found, end = sha1(usedforsecurity=False), b""
        while piece := file.read(_PIECE):
            data = end + piece
            found.update(data[:-_HASH_BYTES])
            end = data[-_HASH_BYTES:]
        if found.digest() != end:
            raise _cut(path)
    if kind_of(refs) == "store":
        text = f"{path} is a git bundle of a whole scopes store, such as a backup, and not one that scopes has written"
        fetch = f"git --git-dir=DIRECTORY fetch {quote(path)} '+refs/*:refs/*' '^refs/scopes/active/*'"
        hint = f"make a store of it: scopes --store DIRECTORY init; {fetch}; scopes --store DIRECTORY repair"
        raise Refused(text, hint=hint)


def _cut(path: str) -> Corrupt:
    problem = f"the bundle {path} cannot be read: it is cut or damaged"
    return Corrupt(problem, hint="have it made again: scopes bundle create FILE")
