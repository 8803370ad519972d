"""Unpack a bundle before refs are fetched from it: git would take the whole bundle, whatever refs are requested.

Git does not read objects that the store already has, and accepts a truncated list of refs as complete. So the file is
read to its end first: a bundle is lines, an empty line, and a pack that ends with its hash.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha1
from shlex import quote
from typing import Final

from scopes.errors import Corrupt, Refused
from scopes.store.git_program import open_quarantine
from scopes.store.objects import translated
from scopes.store.repository import Repository
from scopes.sync.addresses import Address
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.git_transport import is_bundle
from scopes.sync.remotes import Remote

_MAX_LINE: Final = 1 << 20
_PIECE: Final = 1 << 20
_HASH_BYTES: Final = 20


@contextmanager
def unpacked(
    repository: Repository, remote: Remote, connection: Connection, *, alone: bool = False
) -> Iterator[Remote]:
    """Yield a remote to fetch single refs from: for a bundle, a temporary directory with its objects and refs.

    The objects in the directory are unchecked. It is removed at the end of the block. Other remotes are yielded as is.

    alone: read the whole bundle; otherwise git skips objects that the store has, and misses damage in them

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
    from scopes.sync.wrong_remotes import kind_of

    if kind_of(refs) == "store":
        text = f"{path} is a git bundle of a whole scopes store, such as a backup, not one of conversations"
        fetch = f"git --git-dir=DIRECTORY fetch {quote(path)} '+refs/*:refs/*' '^refs/scopes/active/*'"
        hint = f"make a store of it: scopes --store DIRECTORY init; {fetch}; scopes --store DIRECTORY verify --repair"
        raise Refused(text, hint=hint)


def _cut(path: str) -> Corrupt:
    problem = f"the bundle {path} cannot be read: it is cut or damaged"
    return Corrupt(problem, hint="have it made again: scopes push FILE.bundle")
