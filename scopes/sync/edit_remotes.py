"""`remote rename`, `remote set-url` and `remote show`."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.history.transaction import RefTransaction
from scopes.ids import Oid
from scopes.purge.on_remotes import rename_values
from scopes.result import Result
from scopes.store.config_write import read_setting, write_setting
from scopes.store.refs import REMOTE_SOURCES, REMOTES
from scopes.store.remote_file import DEFAULT
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write
from scopes.sync.addresses import Address, Transport
from scopes.sync.change_remotes import RemoteChanged
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.local_conversations import list_roots
from scopes.sync.names import ON_REMOTE, parse_remote_name, sources_tracking_ref, tracking_ref
from scopes.sync.purged_lists import SENT
from scopes.sync.remotes import Remote, default_remote, replace_remote, resolve_remote


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteShown(Result):
    """A remote, as this store knows it.

    conversations: how many it had when it was last seen; here: how many of them this store has
    not_shared: how many conversations of this store it did not have
    """

    name: str
    address: str
    transport: Transport
    as_branches: bool
    default: bool
    conversations: int
    here: int
    not_shared: int


def rename_remote(repository: Repository, name: str, new: str) -> RemoteChanged:
    """Give a remote another name; what is known about it, and the setting of the default remote, follow.

    Raises:
        NotFound: there is no such remote.
        Invalid, Refused: the new name is not valid, or not free.
    """
    remote = resolve_remote(repository, name)
    parse_remote_name(new)
    with exclusive_write(repository):
        replace_remote(repository, name, remote._replace(name=new))
        rename_values(repository, name, new)
        tx = RefTransaction(repository)
        for ref, oid in repository.list_refs(f"{REMOTES}{name}/").items():
            tx.rename_ref(ref, tracking_ref(new, Oid(ref.rpartition("/")[2])), oid)
        for ref, oid in repository.list_refs(f"{REMOTE_SOURCES}{name}/").items():
            tx.rename_ref(ref, sources_tracking_ref(new, Oid(ref.rpartition("/")[2])), oid)
        sent = repository.find_ref(SENT + name)
        if sent is not None:
            tx.rename_ref(SENT + name, SENT + new, sent)
        if tx:
            tx.commit("remote", f"rename the remote {name} to {new}")
        files = repository.config.store_level()
        if read_setting(files, DEFAULT) == name:
            write_setting(files, f"{repository.path}/config", DEFAULT, new)
    return RemoteChanged(
        name=new, address=remote.address.text, change="renamed", before=name, default=_is_default(repository, new)
    )


def set_remote_address(
    repository: Repository, name: str, address: Address, connection: Connection, *, probe: bool = True
) -> RemoteChanged:
    """Give a remote another address; with `probe` ask what is there, and forget what is known but not there.

    Raises:
        NotFound: there is no such remote.
        Inaccessible: the new address does not answer; nothing is changed.
    """
    before = resolve_remote(repository, name)
    remote = Remote(name, address._replace(as_branches=address.as_branches or before.address.as_branches))
    there = _list_roots_there(repository, remote, connection) if probe else None
    with exclusive_write(repository):
        replace_remote(repository, name, remote)
        tx = RefTransaction(repository)
        for ref, oid in repository.list_refs(f"{REMOTES}{name}/", f"{REMOTE_SOURCES}{name}/").items():
            if there is not None and ref.rpartition("/")[2] not in there:
                tx.move_ref(ref, oid, None)
        tx.move_ref(SENT + name, repository.find_ref(SENT + name), None)
        if tx:
            tx.commit("remote", f"another address of the remote {name}")
    return RemoteChanged(
        name=name, address=address.text, change="moved", before=before.address.text,
        conversations=None if there is None else len(there), default=_is_default(repository, name),
    )  # fmt: skip


def _list_roots_there(repository: Repository, remote: Remote, connection: Connection) -> set[Oid]:
    with quarantine_of(repository, knows_remotes=False) as quarantine:
        listed = connection.open(quarantine, remote.address).list_refs(f"{ON_REMOTE}*")
    return {Oid(ref.rpartition("/")[2]) for ref in listed}


def show_remote(repository: Repository, name: str | None) -> RemoteShown:
    """Return what is known about a remote, by default the default one; nobody is asked.

    Raises:
        NotFound, Ambiguous: as `resolve_remote`.
    """
    remote = resolve_remote(repository, name)
    there = {Oid(ref.rpartition("/")[2]) for ref in repository.list_ref_names(f"{REMOTES}{remote.name}/")}
    here = set(list_roots(repository))
    return RemoteShown(
        name=remote.name,
        address=remote.address.text,
        transport=remote.address.transport,
        as_branches=remote.address.as_branches,
        default=_is_default(repository, remote.name),
        conversations=len(there),
        here=len(there & here),
        not_shared=len(here - there),
    )


def _is_default(repository: Repository, name: str) -> bool:
    return default_remote(repository) == name
