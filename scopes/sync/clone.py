"""`clone`: make a store of the conversations of a remote."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Final

from scopes.errors import Refused
from scopes.result import Note, Result, plural
from scopes.store import refs
from scopes.store.repository import Repository, create_store
from scopes.store.transactions import exclusive_write
from scopes.sync.addresses import Address
from scopes.sync.connection import Connection
from scopes.sync.fetch import Fetched, fetch
from scopes.sync.fetch_here import choose_manifests
from scopes.sync.local_conversations import Selection
from scopes.sync.remotes import Remote, delete_remote, list_remotes, save_remote
from scopes.sync.wrong_remotes import explain_empty, refuse_store

if TYPE_CHECKING:
    from scopes.sync.fetch_manifests import ManifestsFetched

_MAX_LEFT: Final = 20
_SHORT_ROOT: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloned(Result):
    """A new store at `path`, with the result of the fetch, or the list of the conversations of its remote."""

    path: str
    fetched: Fetched | None = None
    listed: ManifestsFetched | None = None

    @property
    def kind(self) -> str:
        """Whether the conversations were fetched, or their list."""
        return "clone" if self.listed is None else "clone-manifests"

    def document(self) -> dict[str, object]:
        """Return where the store is, and what was fetched."""
        found = self.listed or self.fetched
        names = ("conversations",) if self.listed is None else ("total", "new", "refused")
        values = {} if found is None else {name: getattr(found, name) for name in ("remote", "address", *names)}
        return {"path": self.path, **values}

    @property
    def sentence(self) -> list[str]:
        """Where the store is, and what is in it."""
        if self.listed is not None:
            return [f"Made a store at {self.path}", self.listed.sentence]
        rows = () if self.fetched is None else self.fetched.conversations
        number = sum(row.status in {"new", "updated"} for row in rows)
        of_all = "" if number == len(rows) else f" of {len(rows):,}"
        return [f"Cloned {number:,}{of_all} {plural(len(rows), 'conversation')} into {self.path}"]

    @property
    def answer(self) -> str:
        """The path."""
        return self.path

    @property
    def next_step(self) -> str:
        """How to use the store."""
        scopes = f"scopes --store {quote(self.path)}"
        if self.listed is None:
            return f"use it: {scopes} list"
        return f"list them: {scopes} fetch {quote(self.listed.remote)} --list"

    @property
    def exit_code(self) -> int:
        """The exit code of the fetch."""
        done = self.fetched or self.listed
        return 0 if done is None else done.exit_code


def clone(
    path: str,
    address: Address,
    selection: Selection,
    connection: Connection,
    *,
    open_store: Callable[[], Repository],
    name: str,
) -> Cloned:
    """Make a store at `path`, add the address as a remote, and fetch.

    If that fails, a new store is removed again, but not an empty directory that existed before; in a store that existed
    before, only the remote is removed.

    A store that an interrupted clone of the same address has left is completed.

    open_store: opens the store at `path`; called after the store was created

    Raises:
        Refused: the store has conversations, or another remote of that name; or the address is a scopes store.
        NotFound: the address is a repository with code, and without conversations.
        As `fetch`.
    """
    with _new_store(path, address, open_store, name) as (repository, remote):
        fetched = fetch(repository, remote, selection, connection, headings=False)
        is_empty = not (fetched.conversations or fetched.unchanged)
        more = explain_empty(repository, address, connection) if is_empty else ()
    return Cloned(path=os.path.abspath(path), fetched=fetched, notes=(*fetched.notes, *more, *_note_left(fetched)))


def _note_left(fetched: Fetched) -> Iterator[Note]:
    """Yield a note for each of the first conversations that were not taken, and one for how many others there are."""
    left = [row for row in fetched.conversations if row.reason is not None]
    for row in left[:_MAX_LEFT]:
        yield Note(f"{row.root[:_SHORT_ROOT]} was not taken: {row.reason}", "see who wrote it to the remote")
    if len(left) > _MAX_LEFT:
        yield Note(f"{len(left) - _MAX_LEFT:,} more conversations were not taken", "see why: scopes fetch")


def clone_manifests(
    path: str,
    address: Address,
    selection: Selection,
    connection: Connection,
    *,
    open_store: Callable[[], Repository],
    name: str,
    directory: str,
) -> Cloned:
    """Make a store as `clone` does, but fetch only the list of conversations, now and by every fetch without a choice.

    directory: that of the index

    Raises:
        As `clone` and `fetch_manifests`.
    """
    with _new_store(path, address, open_store, name) as (repository, remote):
        from scopes.sync.fetch_manifests import fetch_manifests

        listed = fetch_manifests(repository, remote, selection, connection, directory)
        with exclusive_write(repository):
            choose_manifests(repository)
        is_empty = not (listed.total or listed.refused)
        more = explain_empty(repository, address, connection) if is_empty else ()
    return Cloned(path=os.path.abspath(path), listed=listed, notes=(*listed.notes, *more))


@contextmanager
def _new_store(
    path: str, address: Address, open_store: Callable[[], Repository], name: str
) -> Iterator[tuple[Repository, Remote]]:
    """Make a store that knows the remote; if the block fails, a new store, or the new remote, is removed again."""
    refuse_store(address)
    mode = os.stat(path).st_mode if os.path.isdir(path) else None
    is_created = create_store(path)
    remote = Remote(name, address)
    with ExitStack() as unless_done:
        if is_created:
            unless_done.callback(_remove_new, path, mode)
        repository = open_store()
        with exclusive_write(repository):
            is_added = _prepare(repository, remote)
        if is_added and not is_created:
            unless_done.callback(_take_back, repository, remote)
        yield repository, remote
        unless_done.pop_all()


def _remove_new(path: str, mode: int | None) -> None:
    """Remove a new store again; leave an empty directory, with its mode, where there was one."""
    shutil.rmtree(path, ignore_errors=True)
    if mode is not None:
        with suppress(OSError):
            os.mkdir(path)
            os.chmod(path, stat.S_IMODE(mode))


def _take_back(repository: Repository, remote: Remote) -> None:
    """Remove a remote again from which nothing was fetched."""
    with exclusive_write(repository):
        if not repository.list_ref_names(refs.HEADS, refs.META):
            delete_remote(repository, remote.name)


def _prepare(repository: Repository, remote: Remote) -> bool:
    """Add the remote to a store that has no conversation yet; return False if it has the remote already."""
    name, address = remote.name, remote.address.text
    known = next((each for each in list_remotes(repository) if each.name == name), None)
    is_known = known is not None and known.address == remote.address
    if repository.list_ref_names(refs.HEADS, refs.META):
        add = f"scopes remote add {quote(name if known is None else 'NAME')} {quote(address)}"
        option = "" if known is None else " NAME"
        hint = f"add the remote to it: {add}, then: scopes fetch{option}"
        hint = f"get what is new: scopes fetch {quote(name)}" if is_known else hint
        raise Refused(f"the store {repository.path} has conversations already", hint=hint)
    if known is not None and not is_known:
        hint = f"move it: scopes remote set-url {quote(name)} {quote(address)}, then: scopes fetch {quote(name)}"
        raise Refused(f"the store {repository.path} has another remote {name}: {known.address.text}", hint=hint)
    if known is None:
        save_remote(repository, remote)
    return known is None
