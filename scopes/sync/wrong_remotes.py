"""Recognize repositories that are not suitable as a remote: a scopes store, a repository with code, an empty one.

A store has its conversations under other ref names: what was pushed into it would not be found there, and a clone of it
would be empty.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from contextlib import suppress
from shlex import quote
from typing import Final, Literal, TypeAlias

from scopes.errors import NotFound, Refused
from scopes.result import Note, plural
from scopes.store.refs import HEADS, META
from scopes.store.repository import Repository, is_store
from scopes.sync.addresses import Address
from scopes.sync.connection import Connection, quarantine_of

RemoteKind: TypeAlias = Literal["shared", "store", "code", "empty"]
EVERY_REF: Final = "refs/*"
_SHARED: Final = "refs/scopes/v1/"
_SHARE: Final = "share through a bare repository of its own: git init --bare DIRECTORY, then in each store: "


def kind_of(refs: Collection[str]) -> RemoteKind:
    """Return the kind of a repository, by its refs."""
    if any(ref.startswith(META) for ref in refs):
        return "store"
    if any(ref.startswith(_SHARED) for ref in refs):
        return "shared"
    return "code" if any(ref.startswith(HEADS) for ref in refs) else "empty"


def refuse_store(address: Address, own: str | None = None) -> None:
    """Raise Refused for a directory that is a scopes store; `own` is the path of the store in use. No git runs."""
    if address.transport == "directory" and is_store(address.text):
        is_own = own is not None and os.path.realpath(address.text) == os.path.realpath(own)
        raise _store_refused(address, "this store itself" if is_own else "a scopes store")


def _store_refused(address: Address, what: str) -> Refused:
    text = f"{address.text} is {what}, and not a repository to share through"
    return Refused(text, hint=f"{_SHARE}scopes remote add origin ADDRESS")


def note_kind(address: Address, refs: Collection[str]) -> tuple[Note, ...]:
    """Return a note about a new remote that has code.

    Raises:
        Refused: it is a store.
    """
    kind = kind_of(refs)
    if kind == "store":
        raise _store_refused(address, "a scopes store")
    if kind != "code":
        return ()
    number = sum(ref.startswith(HEADS) for ref in refs)
    text = f"{address.text} has {number} {plural(number, 'branch')} of code, and no conversation yet"
    hint = "what you push is kept there below refs/scopes; a repository of its own is better: git init --bare DIRECTORY"
    return (Note(text, hint),)


def note_hooks(address: Address) -> tuple[Note, ...]:
    """Return a note about the hooks of a directory, which do not run: they would run as this user."""
    if address.transport != "directory":
        return ()
    found: set[str] = set()
    for folder in ("hooks", os.path.join(".git", "hooks")):
        with suppress(OSError):
            found |= {each.name for each in os.scandir(os.path.join(address.text, folder)) if _is_hook(each)}
    if not found:
        return ()
    return (
        Note(
            f"the hooks of {address.text} do not run, because they would run as you: {', '.join(sorted(found)[:5])}",
            "to run them, share over ssh or https",
        ),
    )


def _is_hook(entry: os.DirEntry[str]) -> bool:
    is_sample = entry.name.endswith(".sample")
    return not is_sample and entry.is_file() and bool(entry.stat().st_mode & stat.S_IXUSR)


def explain_empty(repository: Repository, address: Address, connection: Connection) -> tuple[Note, ...]:
    """Return a note about a remote from which a clone got nothing.

    Raises:
        Refused: it is a store.
        NotFound: it has code, and no conversation.
        Inaccessible, Corrupt: as `GitTransport.list_refs`.
    """
    with quarantine_of(repository, knows_remotes=False) as quarantine:
        found = connection.open(quarantine, address).list_refs(EVERY_REF)
    for note in note_kind(address, found):
        hint = "check the address: conversations are pushed to a repository of their own; to begin one there: "
        raise NotFound(note.text, hint=f"{hint}scopes remote add origin {quote(address.text)}, then: scopes push")
    return (Note(f"{address.text} has no conversation yet", "send some: scopes push CONV"),)
