"""`remote add`, `remote list` and `remote remove`."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from typing import Final, NamedTuple

from scopes.errors import Inaccessible, Refused
from scopes.history.transaction import RefTransaction
from scopes.ids import Oid
from scopes.purge.gone_there import change_gone
from scopes.result import Column, Note, Result, plural
from scopes.sanitize import clean_line
from scopes.store.objects import COMMIT, TREE, Identity, format_commit
from scopes.store.refs import REMOTE_SOURCES, REMOTES
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write, shared_write
from scopes.sync.addresses import Address, Transport
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.deleted_there import forget_all_deleted
from scopes.sync.failure_causes import UNKNOWN, find_cause
from scopes.sync.git_transport import GitTransport, RefUpdate, is_bundle
from scopes.sync.known_again import know_again, list_tracking
from scopes.sync.names import parse_remote_name
from scopes.sync.refused_file import forget_refused
from scopes.sync.remotes import Remote, default_remote, delete_remote, list_remotes, remote_option, save_remote
from scopes.sync.wrong_remotes import EVERY_REF, note_hooks, note_kind, refuse_store

PROBE: Final = "refs/scopes/v1/probe"
_AUTHOR: Final = Identity("scopes", "scopes@systems.scopes")


class RemoteRow(NamedTuple):
    """A remote: its name, its address, how it is reached, and how many conversations it had when it was last seen.

    default: whether commands use it that name no remote
    """

    name: str
    address: str
    transport: Transport
    conversations: int
    default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteChanged(Result):
    """A remote was added, removed, renamed or moved to another address; `change` says which.

    before: the name or the address that it had
    conversations: how many it has; None if it was not contacted
    default: whether commands use it that name no remote
    """

    kind = "remote"

    name: str
    address: str
    change: str
    before: str | None = None
    conversations: int | None = None
    default: bool = False

    @property
    def sentence(self) -> list[str]:
        """What was changed."""
        if self.change == "removed":
            return [f"Removed the remote {self.name} ({self.address})"]
        if self.before is None:
            number = self.conversations
            has = "" if number is None else f"it has {number} {plural(number, 'conversation')}"
            return [f"Added the remote {self.name} ({self.address})", has]
        if self.change == "renamed":
            return [f"Renamed the remote from {self.before} to {self.name}"]
        return [f"Moved the remote {self.name} from {self.before} to {self.address}"]

    @property
    def answer(self) -> str:
        """The name."""
        return self.name

    @property
    def next_step(self) -> str:
        """How to use a new remote."""
        if self.change == "removed" or self.before is not None:
            return ""
        option = "" if self.default else f" {quote(self.name)}"
        return f"get them: scopes fetch{option}" if self.conversations else f"send some: scopes push{option} CONV"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteList(Result):
    """The remotes of a store, sorted by name."""

    rows_in = "remotes"
    columns = (
        Column("name", "Remote"),
        Column("conversations", form="count"),
        Column("address"),
    )

    remotes: tuple[RemoteRow, ...]

    @property
    def sentence(self) -> str:
        """Which remote is the default."""
        default = next((row.name for row in self.remotes if row.default), None)
        several = f"Commands that name no remote use {default}." if default and len(self.remotes) > 1 else ""
        return self.remark or several

    @property
    def remark(self) -> str:
        """That there is no remote."""
        return "" if self.remotes else "this store has no remote"

    @property
    def next_step(self) -> str:
        """How to choose a default."""
        choose = "none is the default; choose one: scopes config scopes.defaultRemote NAME"
        return choose if len(self.remotes) > 1 and not any(row.default for row in self.remotes) else ""


def add_remote(
    repository: Repository, name: str, address: Address, connection: Connection, *, probe: bool = True
) -> RemoteChanged:
    """Add a remote; with `probe` check that it answers, and that it accepts refs of scopes.

    Raises:
        Invalid: the name is not valid.
        Refused: there is a remote of that name; the address is a scopes store; or with `as_branches` the repository has
            other branches.
        Inaccessible: the remote does not answer; it is not added.
    """
    remote = Remote(parse_remote_name(name), address)
    refuse_store(address, repository.path)
    there, notes = ask_what_it_is(repository, remote, connection) if probe else (None, ())
    with exclusive_write(repository):
        save_remote(repository, remote)
        tx = RefTransaction(repository)
        newer = know_again(repository, tx, there or {}, remote_option(repository, remote.name))
        if tx:
            tx.commit("remote", f"add the remote {remote.name}")
    return RemoteChanged(
        name=remote.name, address=address.text, change="added",
        conversations=None if there is None else sum(ref.startswith(REMOTES) for ref in there),
        default=default_remote(repository) == remote.name, notes=(*notes, *newer, *note_hooks(address)),
    )  # fmt: skip


_OF_BUNDLE: Final = "fetch and pull read it; to write one: scopes push FILE.bundle CONV"


def ask_what_it_is(
    repository: Repository, remote: Remote, connection: Connection
) -> tuple[dict[str, Oid], tuple[Note, ...]]:
    """Return the values of a remote by tracking ref, and notes: it has code, or does not accept refs of scopes.

    Raises:
        Refused: it is a store; or with `as_branches` the repository has other branches.
        Inaccessible: it does not answer.
    """
    with quarantine_of(repository) as quarantine:
        transport = connection.open(quarantine, remote.address)
        found = transport.list_refs(EVERY_REF)
        notes = () if remote.address.as_branches else note_kind(remote.address, found)
        others = transport.list_foreign_branches() if remote.address.as_branches else []
        if others:
            problem = f"{remote.address.text} has other branches: {clean_line(', '.join(others[:5]))}"
            raise Refused(problem, hint="--as-branches is for a repository that has nothing but conversations")
        reason = None if is_bundle(remote.address.text) else _probe(repository, transport)
    refused = (_note_refused(remote.address, reason),) if reason else ()
    if is_bundle(remote.address.text):
        refused = (Note(f"{remote.address.text} is a bundle, which is only read", _OF_BUNDLE),)
    return list_tracking(remote.name, found), (*notes, *refused)


def _note_refused(address: Address, reason: str) -> Note:
    cause, hint = find_cause(reason, address.text), "fetching works; to push, ask for the right to write"
    if cause != UNKNOWN:
        hint = f"fetching may work; to push: {cause.hint}"
    elif not address.as_branches:
        hint += "; if the host takes only branches, remove the remote and add it with --as-branches"
    return Note(f"{address.text} did not take a ref of scopes: {reason}", hint)


def _probe(repository: Repository, transport: GitTransport) -> str | None:
    """Push a tiny ref to the remote and delete it again; return why that was refused, None if it was accepted."""
    with shared_write(repository):  # a purge meanwhile deletes it: then git has nothing to send, and says so
        tree = repository.write(TREE, b"")
        commit = repository.write(COMMIT, format_commit(tree=tree, parents=(), author=_AUTHOR, time=0, subject="probe"))
    try:
        before = transport.list_refs(PROBE).get(PROBE)
        status = transport.push([RefUpdate(PROBE, before, commit)])[0]
        if status.reason is None:
            transport.delete(PROBE, commit)
    except Inaccessible as error:
        return error.message
    return status.reason


def show_remotes(repository: Repository) -> RemoteList:
    """List the remotes, from the file of the store; none is contacted.

    Raises:
        Corrupt: the list of remotes is damaged, or an address in it is not allowed.
    """
    tracked, default = repository.list_ref_names(REMOTES), default_remote(repository)
    rows = (
        RemoteRow(
            remote.name,
            remote.address.text,
            remote.address.transport,
            sum(ref.startswith(f"{REMOTES}{remote.name}/") for ref in tracked),
            remote.name == default,
        )
        for remote in list_remotes(repository)
    )
    return RemoteList(remotes=tuple(rows))


def remove_remote(repository: Repository, name: str) -> RemoteChanged:
    """Remove a remote with all its repositories, and what is known about them; conversations and branches stay.

    Raises:
        NotFound: there is no such remote.
    """
    with exclusive_write(repository):
        removed = delete_remote(repository, name)
        forget_all_deleted(repository, name)
        for each in removed:
            change_gone(repository, each, frozenset())
            forget_refused(repository.path, each)
        tx = RefTransaction(repository)
        prefixes = [f"{prefix}{each}/" for each in removed for prefix in (REMOTES, REMOTE_SOURCES)]
        for ref, oid in repository.list_refs(*prefixes).items():
            tx.move_ref(ref, Oid(oid), None)
        if tx:
            tx.commit("remote", f"remove the remote {name}")
    return RemoteChanged(name=name, address=removed[name], change="removed")
