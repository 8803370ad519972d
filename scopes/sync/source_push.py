"""`push --originals`: send original files after their conversations, and replace or delete files on the remote.

After a purge every push replaces the original files with purged content on a remote, even without --originals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import Final, Literal, NamedTuple, TypeAlias

from scopes.errors import Refused, SecretsFound
from scopes.history.sources import walk_set
from scopes.history.transaction import RefTransaction
from scopes.ids import ConversationId, Oid
from scopes.purge.being_sent import begin_to_send, end_to_send
from scopes.purge.on_remotes import SOURCES_THERE, forget_values, keep_value, read_values
from scopes.purge.purged_values import read_purged_values
from scopes.result import Column, Note, first_few, plural
from scopes.secret_scan.clearance import Mode
from scopes.secrets.gates import gate_of
from scopes.store.objects import Objects, ObjectsInMemory
from scopes.store.repository import Prunes, Repository
from scopes.store.transactions import exclusive_write, shared_write
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.family import EVERY_REF_OF_SCOPES
from scopes.sync.git_transport import PushStatus, RefUpdate
from scopes.sync.incoming_sources import EVERY_SOURCE
from scopes.sync.local_conversations import name_of_conversation
from scopes.sync.names import RemoteName, sources_tracking_ref
from scopes.sync.outgoing_sources import SourcePlans, clear_sources
from scopes.sync.purged_push import PURGED_MEANWHILE
from scopes.sync.push_batches import send
from scopes.sync.receive import receive
from scopes.sync.remote_selection import refspec_of
from scopes.sync.remotes import Remote, remote_option

TRIES: Final = 5
SOURCE_COLUMNS: Final = (
    Column("conversation", form="branch"),
    Column("what"),
    Column("status", "State", "state"),
    Column("files", form="count"),
    Column("reason", form="below"),
)
SourcesStatus: TypeAlias = Literal["new", "updated", "refused", "deleted"]


class PushedSources(NamedTuple):
    """Result of pushing the original files of one conversation; `files` is how many the remote has now.

    status: `deleted` if all of them were purged; `refused` by the remote or by scopes, for the `reason`
    """

    conversation: ConversationId
    status: SourcesStatus
    files: int = 0
    reason: str | None = None

    @property
    def what(self) -> str:
        """What was pushed."""
        return "original files"


class _Change(NamedTuple):
    """A change of a ref with original files; `before` is the last known value of the remote."""

    conversation: ConversationId
    name: RemoteName
    update: RefUpdate
    files: int
    before: Oid | None


class SourcesPushed(NamedTuple):
    """The results of a push for original files: a row for each conversation with a change, sorted by name."""

    rows: tuple[PushedSources, ...]
    notes: tuple[Note, ...]
    has_found_secrets: bool


def push_sources(
    repository: Repository,
    places: Mapping[Remote, Sequence[ConversationId]],
    connection: Connection,
    mode: Mode,
    *,
    wanted: bool,
    dry_run: bool,
) -> SourcesPushed:
    """Push the original files of conversations to the repositories of a remote that have these conversations.

    Unless `wanted`, only files with purged content are replaced. A dry run contacts no repository: each is assumed to
    be as it was when it was last seen, with the conversations in `places`.
    """
    family = [each.name for each in places]
    run = _Run(repository, family, connection, mode, wanted)
    pushes = {member: _SourcePush(run, member) for member in places}
    needed = {member: chosen for member, chosen in places.items() if pushes[member].is_needed and chosen}
    names = {each: name_of_conversation(repository, each) for chosen in needed.values() for each in chosen}
    rows: dict[ConversationId, PushedSources] = {}
    for member, chosen in needed.items():
        waiting = {each: names[each] for each in chosen}
        there = frozenset(name.root for name in names.values())
        rows |= pushes[member].preview(waiting, there) if dry_run else pushes[member].run(waiting)
    left_out = dict.fromkeys(name for each in pushes.values() for name in each.left_out)
    has_found_secrets = any(each.has_found_secrets for each in pushes.values())
    notes = tuple(_note_left_out([*left_out]))
    return SourcesPushed(tuple(rows[each] for each in sorted(rows)), notes, has_found_secrets)


def _note_left_out(names: Sequence[str]) -> Iterator[Note]:
    """Yield a note about files that are not sent because they also have another conversation."""
    if names:
        files = f"{len(names)} original {plural(len(names), 'file')} of several conversations"
        text = f"{files} {_were(len(names))} not pushed"
        yield Note(f"{text}: {first_few(names)}", "push all conversations that are in it")


class _Run(NamedTuple):
    """State and options that the pushes to all repositories of a remote share.

    family: the names of all of them; wanted: send all files; if False, only replace those with purged content
    """

    repository: Repository
    family: Sequence[str]
    connection: Connection
    mode: Mode
    wanted: bool


class _SourcePush:
    """A push of original files to one repository of a remote."""

    def __init__(self, run: _Run, remote: Remote) -> None:
        self._of = run
        self._repository = repository = run.repository
        self._remote = remote
        self._wanted = run.wanted
        self._there: dict[str, Oid] | None = None  # the refs of the repository, once it was asked
        values = read_purged_values(repository.path).items()  # which a backup may have brought back
        self._purged_values = {ref: each for ref, each in values if ref.startswith(SOURCES_THERE)}
        self._gone: list[str] = []  # refs with files from which something was purged, and which it has lost
        self._rows: dict[ConversationId, PushedSources] = {}
        self.left_out: dict[str, None] = {}
        self.has_found_secrets = False

    @property
    def is_needed(self) -> bool:
        """Return True if files are wanted, or if the repository still has or may again have purged content."""
        return self._wanted or bool(self._purged_values) or self._remote.name in read_values(self._repository.path)

    def run(self, waiting: Mapping[ConversationId, RemoteName]) -> dict[ConversationId, PushedSources]:
        """Push the files of conversations that the repository has; return the results of those with a change."""
        for _ in range(TRIES):
            waiting = self._push_once(waiting)
            if not waiting:
                break
            with quarantine_of(self._repository, knows_remotes=False) as quarantine:
                specs = [refspec_of(name) for name in waiting.values()]
                receive(self._repository, self._remote, quarantine, specs, self._of.connection, for_push=True)
        return self._rows

    def preview(
        self, waiting: Mapping[ConversationId, RemoteName], there: frozenset[Oid]
    ) -> dict[ConversationId, PushedSources]:
        """Return what `run` would do if the remote also has the conversations with some roots."""
        for change in self._plan_all(ObjectsInMemory(self._repository), waiting, there):
            self._note(change)
        return self._rows

    def _push_once(self, waiting: Mapping[ConversationId, RemoteName]) -> dict[ConversationId, RemoteName]:
        """Push each change once, and return those that the remote has moved."""
        moved: dict[ConversationId, RemoteName] = {}
        with quarantine_of(self._repository, knows_remotes=False) as quarantine:
            transport = self._of.connection.open(quarantine, self._remote.address)
            self._there = transport.list_refs(EVERY_REF_OF_SCOPES) if self._has_known(waiting.values()) else None
            with shared_write(self._repository):
                prunes = Prunes(self._repository.path)
                changes = {each.update.ref: each for each in self._plan_all(self._repository, waiting, frozenset())}
            self._forget_gone()
            if not changes:
                return moved
            with exclusive_write(self._repository):
                prunes.require_none()
                values = {ref: each.update.new for ref, each in changes.items() if each.update.new is not None}
                begin_to_send(self._repository, self._remote.name, values)
            for statuses in send(transport, [each.update for each in changes.values()]):
                gone = self._remember([changes[status.update.ref] for status in statuses if status.reason is None])
                for status in statuses:
                    change = changes[status.update.ref]
                    self._note(change, status._replace(reason=PURGED_MEANWHILE) if change in gone else status)
                    if status.moved or change in gone:
                        moved[change.conversation] = change.name
            with exclusive_write(self._repository):
                end_to_send(self._repository, self._remote.name, changes)
        return moved

    def _forget_gone(self) -> None:
        """Delete the records of purged content in files that the repository no longer has."""
        if self._gone:
            with exclusive_write(self._repository):
                forget_values(self._repository, self._remote.name, self._gone)

    def _plan_all(
        self, objects: Objects, chosen: Mapping[ConversationId, RemoteName], included: frozenset[Oid]
    ) -> list[_Change]:
        """Return the changes of the files of conversations; add a row for files that may not be sent."""
        purged = read_values(self._repository.path).get(self._remote.name, {})
        plans = SourcePlans(self._repository, self._remote.name, included, self._of.family)
        found: list[_Change] = []
        for conversation, name in chosen.items():
            self._rows.pop(conversation, None)  # that of an earlier try
            ref, is_purged = name.sources_ref, name.sources_ref in purged or self._is_restored(name)
            if not (self._wanted or is_purged):
                continue
            try:
                before, new, files = self._plan(objects, plans, name)
            except (SecretsFound, Refused) as error:
                self.has_found_secrets = self.has_found_secrets or isinstance(error, SecretsFound)
                self._rows[conversation] = PushedSources(conversation, "refused", reason=error.message)
                continue
            there = self._value_there(name, Oid(purged[ref]) if ref in purged else before)
            if is_purged and there is None and (new is None or not self._wanted):
                self._gone.append(ref)  # no file is left that could replace it
            elif new != before or is_purged or (new is not None and there != before):
                found.append(_Change(conversation, name, RefUpdate(ref, there, new), files, before))
        return found

    def _value_there(self, name: RemoteName, known: Oid | None) -> Oid | None:
        """Return the actual value of the repository if it lost the known one or was restored; else the known value.

        A value that somebody else has written is not used: it is fetched first. If the conversation is gone, too,
        somebody has deleted both.
        """
        if self._there is None or known is None or name.ref not in self._there:
            return self._there[name.sources_ref] if self._there and self._is_restored(name) else known
        there = self._there.get(name.sources_ref)
        return there if there is None or self._repository.has(there) or self._is_restored(name) else known

    def _is_restored(self, name: RemoteName) -> bool:
        """Return True if the repository has files with purged content again, from a backup."""
        there = None if self._there is None else self._there.get(name.sources_ref)
        return there is not None and there in self._purged_values.get(name.sources_ref, ())

    def _has_known(self, names: Iterable[RemoteName]) -> bool:
        """Return True if the repository is known to have original files of some conversations."""
        if self._purged_values or self._remote.name in read_values(self._repository.path):
            return True
        refs = (sources_tracking_ref(self._remote.name, name.root) for name in names)
        return any(self._repository.find_ref(ref) is not None for ref in refs)

    def _plan(self, objects: Objects, plans: SourcePlans, name: RemoteName) -> tuple[Oid | None, Oid | None, int]:
        """Return the value that the remote has, the value that it should have, and the number of files in that."""
        known = self._repository.find_ref(sources_tracking_ref(self._remote.name, name.root))
        before = None if known is None else Oid(known)
        if not self._wanted:
            return before, before, 0 if before is None else len(list(walk_set(self._repository, before)))
        outgoing = plans.plan(objects, name.root)
        self.left_out |= dict.fromkeys(outgoing.left_out)
        if outgoing.oid in {None, before}:
            return before, before, outgoing.files
        cleared = clear_sources(objects, outgoing, before, gate_of(self._repository, self._of.mode))
        return before, outgoing.write(objects, cleared), outgoing.files

    def _note(self, change: _Change, status: PushStatus | None = None) -> None:
        name, update = change.conversation, change.update
        if status is not None and status.reason is not None:
            reason = self._explain_moved(name, status.reason) if status.moved else status.reason
            self._rows[name] = PushedSources(name, "refused", reason=reason)
        elif status is not None and status.had_it:
            self._rows.pop(name, None)
        else:
            kind: SourcesStatus = "deleted" if update.new is None else "new" if update.old is None else "updated"
            self._rows[name] = PushedSources(name, kind, change.files)

    def _explain_moved(self, conversation: ConversationId, reason: str) -> str:
        """Return why files were not taken although they were sent several times, and what to do."""
        option = remote_option(self._repository, self._of.family[0])
        originals = " --originals" if self._wanted else ""
        again = f"push them again: scopes push{option} {quote(conversation)}{originals}"
        return f"{TRIES} times somebody else pushed at the same moment; {again} ({reason})"

    def _remember(self, changes: Sequence[_Change]) -> list[_Change]:
        """Record what the remote has confirmed; return the changes that a purge has deleted here meanwhile."""
        gone: list[_Change] = []
        if not changes:
            return gone
        with exclusive_write(self._repository):
            tx = RefTransaction(self._repository)
            for change in changes:
                ref, new = sources_tracking_ref(self._remote.name, change.name.root), change.update.new
                if new is not None and not self._repository.has(new):
                    gone.append(change)
                elif self._repository.find_ref(ref) == change.before:  # else another process has seen it since
                    tx.move_ref(ref, change.before, new)
            forget_values(self._repository, self._remote.name, [change.update.ref for change in changes])
            for change in gone:
                keep_value(self._repository, self._remote.name, change.update.ref, Oid(change.update.new or ""))
            if tx:
                count = len(changes) - len(gone)
                names = f"{count} {plural(count, 'conversation')}"
                tx.commit("push", f"push original files of {names} to {self._remote.name}")
        return gone


def bundle_sources(
    repository: Repository,
    objects: Objects,
    names: Mapping[ConversationId, RemoteName],
    mode: Mode,
) -> tuple[dict[str, Oid], tuple[PushedSources, ...]]:
    """Write the original files of the conversations in a bundle; return the commits by ref.

    Also return a result for each conversation.
    """
    included = frozenset(name.root for name in names.values())
    plans = SourcePlans(repository, None, included)
    found: dict[str, Oid] = {}
    rows: list[PushedSources] = []
    for conversation, name in names.items():
        try:
            outgoing = plans.plan(objects, name.root)
            if outgoing.oid is not None:
                cleared = clear_sources(objects, outgoing, None, gate_of(repository, mode))
                found[name.sources_ref] = outgoing.write(objects, cleared)
                rows.append(PushedSources(conversation, "new", outgoing.files))
        except (SecretsFound, Refused) as error:
            rows.append(PushedSources(conversation, "refused", reason=error.message))
    return found, tuple(rows)


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def delete_sources(
    repository: Repository, remote: Remote, names: Sequence[RemoteName], connection: Connection
) -> tuple[Note, ...]:
    """Delete the original files of conversations from a remote, and forget that it had them.

    Raises:
        Inaccessible: the remote does not answer.
    """
    if not names:
        return ()
    with quarantine_of(repository, knows_remotes=False) as quarantine:
        transport = connection.open(quarantine, remote.address)
        there = transport.list_refs(EVERY_SOURCE)
        found = [name for name in names if name.sources_ref in there]
        for name in found:
            transport.delete(name.sources_ref, there[name.sources_ref])
        left = transport.list_refs(EVERY_SOURCE).keys() if found else frozenset[str]()
    with exclusive_write(repository):
        tx = RefTransaction(repository)
        for name in names:
            ref = sources_tracking_ref(remote.name, name.root)
            if name.sources_ref not in left:
                tx.move_ref(ref, repository.find_ref(ref), None)
        if tx:
            tx.commit("push", f"delete original files from {remote.name}")
    count = sum(name.sources_ref in left for name in found)
    if not count:
        return ()
    text = f"original files of {count} {plural(count, 'conversation')} are still on the remote"
    return (Note(text, "the remote refuses to delete refs, or somebody has pushed since"),)
