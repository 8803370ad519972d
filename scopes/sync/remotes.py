"""The remotes of a store: their names and addresses, in a file of the store that git never reads.

The store may have been copied from somebody else, so every address is also checked when the file is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from shlex import quote
from typing import Final, NamedTuple

from scopes.errors import Ambiguous, Corrupt, Invalid, NotFound, Refused
from scopes.store.config import (
    BUNDLE,
    DEFAULT_REMOTE,
    find_default,
    find_first,
    list_family,
    read_addresses,
    read_entries,
    read_first,
    write_entries,
)
from scopes.store.refs import REMOTES_FILE
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
        hint = f"remove it: scopes remote remove {quote(name[:100])}"
        problem = f"the remote {name[:100]!a} of {os.path.join(repository.path, REMOTES_FILE)} cannot be used"
        raise Corrupt(f"{problem}: {error.message}", hint=hint) from error


def resolve_remote(repository: Repository, name: str | None) -> Remote:
    """Return a remote by its name; without one the default, see `find_default`.

    Raises:
        NotFound: there is no such remote, or none at all.
        Ambiguous: no name is given, and there are several.
    """
    known = read_entries(repository.path)
    if not known:
        raise NotFound("this store has no remote", hint="add one: scopes remote add origin ADDRESS")
    wanted = default_remote(repository) if name is None else name
    if wanted is not None and (name is not None or wanted in known):
        return _check(repository, wanted, *_find(known, wanted))
    names = ", ".join(each[:100] for each in sorted(known))
    if wanted is not None:
        hint = f"remotes: {names}; choose one of them: scopes config {DEFAULT_REMOTE} NAME"
        raise NotFound(f"the default remote {wanted[:100]!a} does not exist", hint=hint)
    hint = f"name one now, as in scopes push NAME, or for good: scopes config {DEFAULT_REMOTE} NAME; remotes: {names}"
    raise Ambiguous("this store has several remotes, and none is the default", hint=hint)


def default_remote(repository: Repository) -> str | None:
    """Return the name of the default remote; None if there is none."""
    return find_default(repository.path, repository.config.find(DEFAULT_REMOTE))


def remote_option(repository: Repository, name: str) -> str:
    """Return ` NAME` for a hint, behind the verb; empty if the remote is the default one, or a repository of it."""
    first = find_first(read_addresses(repository.path), name)
    return "" if default_remote(repository) == first else f" {quote(first)}"


def save_remote(repository: Repository, remote: Remote) -> None:
    """Add a remote; call it inside `exclusive_write`.

    Raises:
        Refused: there is one of that name, or too many; or the name is not free.
        Inaccessible: the file cannot be written.
    """
    known = read_entries(repository.path)
    _require_free(remote.name, known)
    if len(known) >= MAX_REMOTES:
        raise Refused(f"a store has at most {MAX_REMOTES} remotes", hint="remove some: scopes remote remove NAME")
    write_entries(repository.path, {**known, remote.name: (remote.address.text, remote.address.as_branches)})


def _require_free(name: str, known: Iterable[str]) -> None:
    if name == BUNDLE:
        raise Refused(f"{BUNDLE!a} is reserved for imported bundles", hint="choose another name, such as usb")
    if any(each.casefold() == name.casefold() for each in known):
        hint = f"remove it first: scopes remote remove {quote(name)}, or choose another name"
        raise Refused(f"there is a remote {name!a} already", hint=hint)


def replace_remotes(repository: Repository, changes: Mapping[str, Remote | None]) -> None:
    """Rename remotes, change their addresses, remove or add them, all at once; call it inside `exclusive_write`.

    changes: the new remote by its present name, None to remove it; an unknown name adds a remote

    Raises:
        Refused: a new name is not free.
        Inaccessible: the file cannot be written.
    """
    known = read_entries(repository.path)
    others = {each: entry for each, entry in known.items() if each not in changes}
    first = changes.get(read_first(repository.path) or "")
    for remote in changes.values():
        if remote is not None:
            _require_free(remote.name, others)
            others[remote.name] = (remote.address.text, remote.address.as_branches)
    write_entries(repository.path, others, None if first is None else first.name)


def delete_remote(repository: Repository, name: str) -> dict[str, str]:
    """Remove a remote with its later repositories from the file, and return the addresses by name.

    Call it inside `exclusive_write`.

    Raises:
        NotFound: there is no such remote.
    """
    _find(read_entries(repository.path), name)
    addresses = read_addresses(repository.path)
    family = list_family(addresses, find_first(addresses, name))
    names = family[family.index(name) :]
    replace_remotes(repository, dict.fromkeys(names))
    return {each: addresses[each] for each in names}


def _find(known: Mapping[str, tuple[str, bool]], name: str) -> tuple[str, bool]:
    if name not in known:
        names = ", ".join(each[:100] for each in sorted(known)) or "none"
        raise NotFound(f"there is no remote {name[:100]!a}", hint=f"remotes: {names}")
    return known[name]
