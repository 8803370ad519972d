"""`remote rename`, `remote set-url` and `remote show`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from shlex import quote

from scopes.errors import Refused
from scopes.history.transaction import RefTransaction
from scopes.ids import Oid
from scopes.purge.gone_there import change_gone, rename_gone
from scopes.purge.on_remotes import rename_values
from scopes.result import Column, Note, Result, counted
from scopes.store.config import DEFAULT_REMOTE, read_gone, read_setting, write_setting
from scopes.store.refs import PURGE_OFFERS, REMOTE_SOURCES, REMOTES
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write
from scopes.sync.addresses import Address, Transport
from scopes.sync.change_remotes import RemoteChanged, ask_what_it_is
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.deleted_there import forget_all_deleted, rename_deleted
from scopes.sync.family import EVERY_REF_OF_SCOPES, find_next_of, is_closed, list_members
from scopes.sync.known_again import know_again, list_tracking
from scopes.sync.local_conversations import list_roots
from scopes.sync.manifest_list import read_manifest_list
from scopes.sync.names import parse_remote_name
from scopes.sync.purged_lists import SENT
from scopes.sync.refused_file import forget_refused, rename_refused
from scopes.sync.remotes import Remote, default_remote, remote_option, replace_remotes, resolve_remote
from scopes.sync.wrong_remotes import note_hooks, refuse_store


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteShown(Result):
    """A remote as this store knows it; the numbers are those of when it was last seen.

    conversations: how many conversations it had; here: how many of them this store has
    not_shared: how many conversations of this store it did not have
    """

    kind = "remote-status"
    columns = (
        Column("shown_name", "Remote"),
        Column("address"),
        Column("shown_refs", "Refs"),
        Column("shown_conversations", "Conversations"),
        Column("shown_not_shared", "Not shared"),
    )

    name: str
    address: str
    transport: Transport
    as_branches: bool
    default: bool
    conversations: int
    here: int
    not_shared: int

    @property
    def shown_name(self) -> str:
        """The name, and whether it is the default."""
        return f"{self.name} (the default)" if self.default else self.name

    @property
    def shown_refs(self) -> str:
        """Where its refs are, if they are branches."""
        return "branches below refs/heads/scopes" if self.as_branches else ""

    @property
    def shown_conversations(self) -> str:
        """How many conversations it had, and how many of them are here."""
        return f"{self.conversations:,} when it was last seen, {self.here:,} of them here"

    @property
    def shown_not_shared(self) -> str:
        """How many conversations of this store it did not have."""
        return counted(self.not_shared, "conversation")

    @property
    def next_step(self) -> str:
        """How to see what a push would send."""
        option = "" if self.default else f" {quote(self.name)}"
        return f"see what a push would send: scopes push{option} --dry-run"


def rename_remote(repository: Repository, name: str, new: str) -> RemoteChanged:
    """Rename a remote with its later repositories, their tracking refs and the setting of the default remote.

    Raises:
        NotFound: there is no such remote.
        Invalid, Refused: the new name is not valid, or not free; or `name` is a later repository of a remote.
    """
    members = _list_family(repository, name)
    names = {member.name: parse_remote_name(new + member.name[len(name) :]) for member in members}
    with exclusive_write(repository):
        replace_remotes(repository, {each.name: each._replace(name=names[each.name]) for each in members})
        rename_deleted(repository, name, new)
        tx = RefTransaction(repository)
        for before, after in names.items():
            rename_values(repository, before, after)
            rename_gone(repository, before, after)
            rename_refused(repository.path, before, after)
            for prefix in (REMOTES, REMOTE_SOURCES, PURGE_OFFERS):
                for ref, oid in repository.list_refs(f"{prefix}{before}/").items():
                    tx.rename_ref(ref, f"{prefix}{after}/{ref.rpartition('/')[2]}", oid)
            sent = repository.find_ref(SENT + before)
            if sent is not None:
                tx.rename_ref(SENT + before, SENT + after, sent)
        if tx:
            tx.commit("remote", f"rename the remote {name} to {new}")
        if read_setting(repository.config.store_file, DEFAULT_REMOTE) in names:
            write_setting(repository.config.store_file, DEFAULT_REMOTE, new)
    return RemoteChanged(
        name=new, address=members[0].address.text, change="renamed", before=name, default=_is_default(repository, new)
    )


def _list_family(repository: Repository, name: str) -> list[Remote]:
    """Return the repositories of a remote by the name of the first one; raises Refused for the name of a later one."""
    members = list_members(repository, resolve_remote(repository, name))
    first = members[0].name
    if first != name:
        raise Refused(f"{name} is a later repository of {first}, and changes with it", hint=f"change {first} instead")
    return members


def set_remote_address(
    repository: Repository, name: str, address: Address, connection: Connection, *, probe: bool = True
) -> RemoteChanged:
    """Change the address of a remote; with `probe` check it as `add_remote` does, and forget what is not there.

    The addresses of later repositories follow from the first one. With `probe` those that do not exist are forgotten.

    Raises:
        NotFound: there is no such remote.
        Refused: `name` is a later repository of a remote; or the addresses of later ones cannot be derived from the new
            address; or that is a scopes store, or has other branches although `as_branches` is set.
        Inaccessible: the new address does not answer; nothing is changed.
    """
    members = _list_family(repository, name)
    before = members[0]
    remote = Remote(name, address._replace(as_branches=address.as_branches or before.address.as_branches))
    refuse_store(address, repository.path)
    _, notes = ask_what_it_is(repository, remote, connection) if probe else (None, ())
    there = _list_there(repository, remote, connection) if probe else None
    moved = _move_later(members, remote) if there is None else list(there)
    with exclusive_write(repository):
        replace_remotes(
            repository, {**dict.fromkeys(each.name for each in members), **{each.name: each for each in moved}}
        )
        if there is not None:
            forget_all_deleted(repository, name)
        known = {each.name: None if there is None else there[each] for each in moved}
        newer: list[Note] = []
        tx = RefTransaction(repository)
        for member in members:
            change_gone(repository, member.name, frozenset())
            forget_refused(repository.path, member.name)
            kept = known.get(member.name, {})
            tracked = repository.list_refs(f"{REMOTES}{member.name}/", f"{REMOTE_SOURCES}{member.name}/")
            for ref, oid in tracked.items():
                if kept is not None and ref not in kept:
                    tx.move_ref(ref, oid, None)
            tx.move_ref(SENT + member.name, repository.find_ref(SENT + member.name), None)
        for found in known.values():
            newer += know_again(repository, tx, found or {}, remote_option(repository, name))
        if tx:
            tx.commit("remote", f"another address of the remote {name}")
    return RemoteChanged(
        name=name, address=address.text, change="moved", before=before.address.text,
        conversations=_count_conversations(there), default=_is_default(repository, name),
        notes=(*notes, *dict.fromkeys(newer), *note_hooks(address)),
    )  # fmt: skip


def _move_later(members: list[Remote], remote: Remote) -> list[Remote]:
    """Return the repositories of a remote at its new address, without contacting them.

    Raises:
        Refused: the new address has a number of its own, or a name that cannot be numbered.
    """
    moved = [remote]
    for member in members[1:]:
        following = find_next_of(moved)
        if following is None or following.name != member.name:
            problem = (
                f"{member.name} cannot follow {remote.name} to {remote.address.text}: its address cannot be derived"
            )
            raise Refused(problem, hint="leave out --no-probe, so that they are looked for; or add another remote")
        moved.append(following)
    return moved


def _list_there(repository: Repository, remote: Remote, connection: Connection) -> dict[Remote, dict[str, Oid]]:
    """Return the values of each repository at an address, and of those that follow it, by tracking ref."""
    members = [remote]
    found: dict[Remote, dict[str, Oid]] = {}
    with quarantine_of(repository, knows_remotes=False) as quarantine:
        for member in members:  # which grows
            listed = connection.open(quarantine, member.address).list_refs(EVERY_REF_OF_SCOPES)
            found[member] = list_tracking(member.name, listed)
            following = find_next_of(members) if is_closed(member, listed) else None
            members += [] if following is None else [following]
    return found


def _count_conversations(there: Mapping[Remote, Mapping[str, Oid]] | None) -> int | None:
    if there is None:
        return None
    return sum(ref.startswith(REMOTES) for refs in there.values() for ref in refs)


def show_remote(repository: Repository, name: str | None) -> RemoteShown:
    """Return what is known about a remote with all its repositories, by default the default one; no connection is made.

    Raises:
        NotFound, Ambiguous: as `resolve_remote`.
    """
    members = list_members(repository, resolve_remote(repository, name))
    remote = members[0]
    prefixes = [f"{REMOTES}{member.name}/" for member in members]
    gone = {root for member in members for root in read_gone(repository.path).get(member.name, ())}
    there = {Oid(root) for root in (ref.rpartition("/")[2] for ref in repository.list_ref_names(*prefixes))} - gone
    directory = repository.caller.index_directory
    for member in members if directory is not None else ():  # those of which only manifests were fetched
        listed = read_manifest_list(str(directory), member)
        there.update(() if listed is None else listed.conversations)
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
