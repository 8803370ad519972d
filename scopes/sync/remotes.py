"""The remotes of a store: their names and addresses, in a file of the store that git never reads.

Whoever made a store may have written the file: every address is checked when it is read, too.
"""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from scopes.errors import Ambiguous, Corrupt, Invalid, NotFound, Refused
from scopes.store.remote_file import BUNDLE, FILE, choose_default, read_entries, write_entries
from scopes.store.repository import Repository
from scopes.sync.addresses import Address, parse_address
from scopes.sync.names import parse_remote_name

MAX_REMOTES: Final = 1000


class Remote(NamedTuple):
    """A remote: its name here, and its address."""

    name: str
    address: Address


def list_remotes(repository: Repository) -> tuple[Remote, ...]:
    """Return the remotes of a store, sorted by name.

    Raises:
        Corrupt: the file is damaged, or an address in it is not allowed.
    """
    return tuple(_check(repository, name, *entry) for name, entry in sorted(read_entries(repository.path).items()))


def _check(repository: Repository, name: str, text: str, as_branches: bool) -> Remote:  # noqa: FBT001 - as it is stored
    try:
        return Remote(parse_remote_name(name), parse_address(text)._replace(as_branches=as_branches))
    except Invalid as error:
        hint = f"remove it: scopes remote remove {name[:100]}"
        problem = f"the remote {name[:100]!a} of {os.path.join(repository.path, FILE)} cannot be used"
        raise Corrupt(f"{problem}: {error.message}", hint=hint) from error


def resolve_remote(repository: Repository, name: str | None) -> Remote:
    """Return a remote by its name; without one `origin`, or the only remote.

    Raises:
        NotFound: there is no such remote, or none at all.
        Ambiguous: no name is given, and there are several.
    """
    known = read_entries(repository.path)
    if not known:
        raise NotFound("this store has no remote", hint="add one: scopes remote add origin ADDRESS")
    wanted = choose_default(known) if name is None else name
    if wanted is not None and wanted in known:
        return _check(repository, wanted, *known[wanted])
    names = ", ".join(each[:100] for each in sorted(known))
    if name is None:
        raise Ambiguous("this store has several remotes", hint=f"choose one with --remote: {names}")
    raise NotFound(f"there is no remote {name[:100]!a}", hint=f"remotes: {names}")


def save_remote(repository: Repository, remote: Remote) -> None:
    """Add a remote; call it inside `exclusive_write`.

    Raises:
        Refused: there is one of that name, or too many; or the name is not free.
        Inaccessible: the file cannot be written.
    """
    known = read_entries(repository.path)
    if remote.name == BUNDLE:
        raise Refused(f"{BUNDLE!a} is the name of what bundles have", hint="choose another name, such as usb")
    if any(name.casefold() == remote.name.casefold() for name in known):
        hint = f"remove it first: scopes remote remove {remote.name}, or choose another name"
        raise Refused(f"there is a remote {remote.name!a} already", hint=hint)
    if len(known) >= MAX_REMOTES:
        raise Refused(f"a store has at most {MAX_REMOTES} remotes", hint="remove some: scopes remote remove NAME")
    write_entries(repository.path, {**known, remote.name: (remote.address.text, remote.address.as_branches)})


def delete_remote(repository: Repository, name: str) -> str:
    """Remove a remote from the file, and return its address; call it inside `exclusive_write`.

    Raises:
        NotFound: there is no such remote.
    """
    known = read_entries(repository.path)
    if name not in known:
        names = ", ".join(each[:100] for each in sorted(known)) or "none"
        raise NotFound(f"there is no remote {name[:100]!a}", hint=f"remotes: {names}")
    address, _ = known.pop(name)
    write_entries(repository.path, known)
    return address
