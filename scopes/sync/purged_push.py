"""A push after a purge: it replaces purged content on the remote, and never brings any back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from shlex import quote
from typing import Final

from scopes.clock import new_id
from scopes.history.sources import read_purged
from scopes.history.transaction import RefTransaction
from scopes.ids import ConversationId, Oid, OperationId
from scopes.purge.on_remotes import forget_values, keep_value, read_values, roots_in
from scopes.purge.purged_values import read_purged_values
from scopes.result import Note, plural
from scopes.store.config import machine_id
from scopes.store.refs import PURGED, REMOTES
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.family import EVERY_REF_OF_SCOPES
from scopes.sync.git_transport import GitTransport
from scopes.sync.local_conversations import list_roots
from scopes.sync.outgoing import Outgoing
from scopes.sync.purge_notes import OfferGate
from scopes.sync.purged_lists import SENT, push_list
from scopes.sync.remotes import Remote

_FEW: Final = 5
_SHORT_ROOT: Final = 12
_NOT_ASKED: Final = Note(
    "a dry run does not ask the remote whether it has again what was purged as a whole: that would be deleted, too",
    "see what the remote has: scopes fetch",
)
PURGED_MEANWHILE: Final = "it was purged here while it was sent"


def explain_newer(conversation: ConversationId, option: str) -> str:
    """Return why purged content is not replaced on a remote, and the commands that get or remove what is above it."""
    name = quote(conversation)
    return (
        f"the remote has newer messages above what was purged here: get them without it: scopes pull{option} {name} "
        f"--purged; then: scopes push{option} --purged; or remove there what is not here: "
        f"scopes push{option} {name} --force --yes"
    )


def list_purged(
    repository: Repository, remotes: Iterable[Remote], connection: Connection | None
) -> list[ConversationId]:
    """Return the conversations, sorted, whose purged content some remotes still have, or may have again.

    If that is not known of a remote, because it was added later or never fetched, the remote is contacted, unless
    `connection` is None.

    Raises:
        Inaccessible, Corrupt, NotFound: as `GitTransport.list_refs`.
    """
    values, replaced = read_values(repository.path), read_purged_values(repository.path)
    here, again = list_roots(repository), roots_in(replaced)
    wanted: set[str] = set()
    for remote in remotes:
        tracked = {ref.rpartition("/")[2] for ref in repository.list_ref_names(f"{REMOTES}{remote.name}/")}
        known = roots_in(values.get(remote.name, {})) | (again & tracked)
        wanted |= known
        if connection is not None and not (again & here.keys()) <= known:
            with quarantine_of(repository, knows_remotes=False) as quarantine:
                there = connection.open(quarantine, remote.address).list_refs(EVERY_REF_OF_SCOPES)
            wanted |= roots_in(ref for ref, olds in replaced.items() if there.get(ref) in olds)
    return sorted(name for root, name in here.items() if root in wanted)


class PurgedOnRemote:
    """The purged content that one remote has, during a push."""

    def __init__(self, repository: Repository, remote: str, offers: OfferGate) -> None:
        self._repository = repository
        self._remote = remote
        self._values = read_values(repository.path).get(remote, {})
        self._offers = offers
        self._replaced = read_purged_values(repository.path)
        self.deleted: tuple[Oid, ...] = ()  # roots of conversations that were deleted there, or would be
        self._returned: Mapping[str, Oid] = {}  # conversations purged as a whole that the remote has again

    def may_return(self, ref: str) -> bool:
        """Return True if the remote may have purged content at this ref again, from a backup."""
        return ref in self._replaced

    def has(self, ref: str) -> bool:
        """Return True if a ref of the remote still has purged content."""
        return ref in self._values

    def find_value(self, ref: str) -> Oid | None:
        """Return the manifest that the remote had at a ref before the purge; None if that has no purged content."""
        return Oid(self._values[ref]) if ref in self._values else None

    def forget(self, on_remote: Iterable[str]) -> None:
        """Remember that the remote has replaced some refs; call it under the exclusive lock."""
        replaced = list(on_remote)
        forget_values(self._repository, self._remote, replaced)
        self._values = {ref: value for ref, value in self._values.items() if ref not in replaced}

    def keep(self, ref: str, value: Oid) -> None:
        """Record that the remote accepted a value that was purged meanwhile; call it under the exclusive lock."""
        keep_value(self._repository, self._remote, ref, value)
        self._values = {**self._values, ref: value}

    def find_refusal(self, outgoing: Outgoing) -> str | None:
        """Return why a conversation may not be sent: it would bring back content that was purged elsewhere."""
        return self._offers.find_refusal(outgoing)

    def refresh(self) -> None:
        """Read the offers and the restored content of the remote again, after a fetch."""
        self._offers.refresh()
        self._values = read_values(self._repository.path).get(self._remote, {})

    def note_gone(self, option: str) -> tuple[Note, ...]:
        """Return a note about conversations that were purged as a whole, and that the remote still has or has again."""
        hint = f"delete {{}} there, too: scopes push{option} --purged"
        count = len(roots_in({**self._list_gone(), **self._returned}))
        return _note("is still", "are still", count, hint.format("it" if count == 1 else "them"))

    def is_needed(self, *, deletes: bool) -> bool:
        """Return True if `finish` has something to do: a store with a list checks with every push that it is there."""
        return self._repository.find_ref(PURGED) is not None or bool(deletes and self._list_gone())

    def preview(self) -> tuple[Note, ...]:
        """Return a note about the conversations that `finish` would delete there, as far as they are known here."""
        self.deleted = _sorted_roots(self._list_gone())
        here = list_roots(self._repository)
        away = any(root not in here and root not in self.deleted for root in map(Oid, roots_in(self._replaced)))
        return (*_note_deleted(self.deleted, "would be", "would be"), *((_NOT_ASKED,) if away else ()))

    def finish(self, transport: GitTransport, *, deletes: bool, force: bool = False) -> tuple[Note, ...]:
        """Send the list of what was purged here, and delete conversations there that are gone here.

        With `force` also those to which somebody has added something since.

        Raises:
            Inaccessible: the remote does not answer.
        """
        with exclusive_write(self._repository):
            machine = machine_id(self._repository.config, OperationId(new_id()))
        sent = push_list(self._repository, machine, transport)
        returned = self._list_returned(transport)
        self._returned = {} if deletes else returned
        gone = {**self._list_gone(), **returned} if deletes and read_purged(self._repository) else {}
        if deletes and force:
            gone |= self._list_purged(transport)
        for ref, value in gone.items():
            transport.delete(ref, value)
        left = {ref for ref in gone if transport.list_refs(ref)}
        with exclusive_write(self._repository):
            if sent is not None and self._repository.find_ref(SENT + self._remote) != sent.new:
                tx = RefTransaction(self._repository)
                tx.move_ref(SENT + self._remote, self._repository.find_ref(SENT + self._remote), sent.new)
                tx.commit("push", f"push what was purged to {self._remote}")
            self.forget(ref for ref in gone if ref not in left)
        self.deleted = tuple(root for root in _sorted_roots(gone) if root not in roots_in(left))
        return (*_note_deleted(self.deleted, "was", "were"), *_note_left(len(roots_in(left)), force=force))

    def _list_gone(self) -> dict[str, Oid]:
        """Return the refs of conversations that were purged as a whole, with their values there."""
        here = list_roots(self._repository) if self._values else {}
        return {ref: Oid(value) for ref, value in self._values.items() if Oid(ref.rpartition("/")[2]) not in here}

    def _list_purged(self, transport: GitTransport) -> dict[str, Oid]:
        """Return the refs on the remote of all conversations that were purged here as a whole, with their values."""
        here, purged = list_roots(self._repository), read_purged(self._repository)
        there = transport.list_refs(EVERY_REF_OF_SCOPES)
        roots = {ref: Oid(ref.rpartition("/")[2]) for ref in there}
        return {ref: there[ref] for ref, root in roots.items() if root not in here and purged.has_conversation(root)}

    def _list_returned(self, transport: GitTransport) -> dict[str, Oid]:
        """Return the refs of conversations that were purged as a whole, and that the remote has again, with values."""
        here = list_roots(self._repository)
        away = {ref: each for ref, each in self._replaced.items() if Oid(ref.rpartition("/")[2]) not in here}
        there = transport.list_refs(EVERY_REF_OF_SCOPES) if away else {}
        return {ref: there[ref] for ref, values in away.items() if there.get(ref) in values}


def _note(one: str, many: str, count: int, hint: str | None) -> tuple[Note, ...]:
    if not count:
        return ()
    return (Note(f"{count} purged {plural(count, 'conversation')} {one if count == 1 else many} on the remote", hint),)


def _sorted_roots(on_remote: Iterable[str]) -> tuple[Oid, ...]:
    return tuple(map(Oid, sorted(roots_in(on_remote))))


def _note_deleted(roots: Sequence[Oid], one: str, many: str) -> tuple[Note, ...]:
    """Return a note about conversations that no longer have an id here: each is named by its root."""
    if not roots:
        return ()
    number = len(roots)
    names = ", ".join(root[:_SHORT_ROOT] for root in roots[:_FEW]) + (", ..." if number > _FEW else "")
    what = f"{number} purged {plural(number, 'conversation')} {one if number == 1 else many}"
    return (Note(f"{what} deleted on the remote: {names}"),)


def _note_left(count: int, *, force: bool) -> tuple[Note, ...]:
    newer = "" if force else ", or somebody has pushed since; with what they pushed: scopes push --purged --force --yes"
    return _note("is still", "are still", count, f"the remote refuses to delete refs{newer}")
