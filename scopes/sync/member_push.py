"""A push to one repository of a remote: if its refs have moved, they are fetched, and the push is planned again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from shlex import quote
from types import MappingProxyType
from typing import Final, NamedTuple

from scopes.errors import Corrupt, NotFound, SecretsFound, TooNew
from scopes.history.names import list_branch_tips
from scopes.history.transaction import RefTransaction
from scopes.ids import BranchName, ConversationId, Oid
from scopes.merge.in_progress import list_in_progress
from scopes.purge.being_sent import begin_to_send, end_to_send
from scopes.purge.gone_there import forget_gone
from scopes.result import Note, plural
from scopes.secret_scan.clearance import Cleared, Mode
from scopes.secrets.gates import gate_maker
from scopes.store.objects import Objects, ObjectsInMemory
from scopes.store.refs import META, REMOTES
from scopes.store.repository import Prunes, Repository
from scopes.store.transactions import exclusive_write, shared_write
from scopes.sync.accept import FetchedConversation
from scopes.sync.change_notes import note_deleted_there
from scopes.sync.clearance import clear_for_push
from scopes.sync.cleared_tips import ClearedTips
from scopes.sync.clocks_ahead import correct_clocks
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.deleted_there import forget_deleted, name_branch, read_deleted_branches
from scopes.sync.family import EVERY_REF_OF_SCOPES
from scopes.sync.format_check import PurgedHere
from scopes.sync.git_transport import GitTransport, RefUpdate
from scopes.sync.learn_before import learn_lists
from scopes.sync.local_conversations import read_all_tips
from scopes.sync.lost_on_remote import GONE, KEPT, NOTHING_LOST, Lost, find_lost, forget_lost
from scopes.sync.names import RemoteName, tracking_ref
from scopes.sync.outgoing import Outgoing, count_unseen, plan_push
from scopes.sync.purge_notes import HELD, OfferGate
from scopes.sync.purged_push import PURGED_MEANWHILE, PurgedOnRemote, explain_newer
from scopes.sync.push_batches import send
from scopes.sync.pushed import (
    PushedConversation,
    PushedStatus,
    ReplacedBranch,
    explain_unseen,
    explain_unsent,
    note_behind,
    note_diverged,
    note_fetched,
)
from scopes.sync.receive import new_objects, receive
from scopes.sync.refused_file import forget_refused, read_refused
from scopes.sync.remote_selection import refspec_of
from scopes.sync.remotes import Remote
from scopes.sync.unmerged import explain_unmerged, find_unmerged
from scopes.sync.wrong_remotes import note_hooks

TRIES: Final = 5
_FEW: Final = 10  # refs that are looked up one by one
_SHORT_OID: Final = 12
_HAS_PURGED: Final = "it has what was purged here"
_KEPT_BY_OTHERS: Final = "whoever added messages keeps them, and can push them after scopes purge --accept"


class _Planned(NamedTuple):
    """A planned update of one conversation, after the search for secrets."""

    outgoing: Outgoing
    cleared: Cleared


class PushRun(NamedTuple):
    """State and options of a push that all repositories of a remote share.

    family: the name of the remote; option: ` NAME` for hints
    is_named: whether conversations were named
    purged: whether all conversations are replaced whose purged content the remote still has
    branches: the branches to force, for conversations of which single branches were named
    drops_unmerged: whether the user has confirmed that messages are removed which no branch here ever had
    """

    repository: Repository
    connection: Connection
    mode: Mode
    force: bool
    family: str
    option: str
    is_named: bool
    offers: OfferGate
    purged: bool = False
    branches: Mapping[ConversationId, Collection[BranchName]] = MappingProxyType({})
    drops_unmerged: bool = False

    @property
    def may_replace(self) -> bool:
        """Return True if the user has chosen to replace what fails a check on the remote."""
        return self.force and ((self.is_named and not self.branches) or self.purged)

    @property
    def may_replace_purged(self) -> bool:
        """Return True if the user has confirmed that messages of others above purged content are removed, too."""
        return self.may_replace and self.drops_unmerged


class MemberPush:
    """A push to one repository of a remote; `rows` has the result for each conversation so far."""

    def __init__(self, run: PushRun, remote: Remote) -> None:
        self._of = run
        self._repository = run.repository
        self._remote = remote
        self._connection = run.connection
        self._force = run.force
        self.has_found_secrets = False
        self._purged = PurgedOnRemote(run.repository, remote.name, run.offers)
        self._searched = ClearedTips(run.repository)
        self._new_gate = gate_maker(run.repository, run.mode)
        self._find_ref: Callable[[str], str | None] = run.repository.find_ref
        self.fetched: list[FetchedConversation] = []
        self.deleted_branches: dict[str, None] = {}
        self._restored: dict[Oid, list[str]] = {}  # conversations to send again that were deleted there, by the root
        self._deleted_here = read_deleted_branches(run.repository.path, run.family)
        self._rows: dict[ConversationId, PushedConversation] = {}
        self._unsent: dict[RemoteName, Outgoing] = {}  # unchanged since the remote was last seen; it was not contacted
        self._older: dict[str, Oid] = {}  # refs of the remote with a value before the one that is known
        self._lost: dict[Note, None] = {}
        self._never_taken: set[RemoteName] = set()  # by the remote: a push was killed before that
        self._ahead: dict[ConversationId, tuple[str, ...]] = {}  # registers changed here with a time in the future
        self._corrected: list[Note] = []
        self._replaced: dict[Oid, Note] = {}  # what fails a check and is replaced, by the root
        self._seen: dict[RemoteName, list[Oid]] = {}  # the tips of the remote that were known before the push

    def run(self, chosen: Sequence[ConversationId]) -> dict[ConversationId, PushedConversation]:
        """Push, and after each round push again the conversations whose refs the remote had moved."""
        waiting = list(chosen)
        for _ in range(TRIES):
            moved = [each.outgoing for each in self._push_once(waiting)]
            names = [each.name for each in moved if each.name not in self._never_taken]
            refused = self._fetch(names) if names else {}
            if len(refused) == len(moved) and self._unsent:  # nothing else is to be sent
                unsent, self._unsent = self._unsent, {}
                lost, gone = self._find_lost(unsent)
                if self._of.may_replace:
                    refused |= self._fetch([*lost.others])
                there = {*lost.gone, *lost.older, *(lost.others if self._of.may_replace else ())}
                moved += [each for name, each in unsent.items() if name in there]
                is_kept = not (lost.is_replaced or self._of.is_named)
                refused |= {root: KEPT if is_kept and reason == GONE else reason for root, reason in gone.items()}
            waiting = []
            for each in moved:
                reason = refused.get(each.name.root)
                if reason == HELD:
                    self._of.offers.hold(each.conversation)
                if reason is not None:
                    self._note(each, "deleted" if reason == KEPT else "refused", reason)
                else:
                    waiting.append(each.conversation)
            if not waiting:
                return self._rows
        for conversation in waiting:
            row = self._rows[conversation]
            again = f"push it again: scopes push{self._of.option} {quote(conversation)}"
            reason = f"{TRIES} times somebody else pushed at the same moment; {again} ({row.reason})"
            self._rows[conversation] = replace(row, status="refused", reason=reason)
        return self._rows

    def preview(self, chosen: Sequence[ConversationId]) -> dict[ConversationId, PushedConversation]:
        """Return what `run` would do if the remote is as it was when it was last seen."""
        objects, tips = ObjectsInMemory(self._repository), read_all_tips(self._repository)
        for number, conversation in enumerate(chosen):
            self._connection.report("searching for secrets", number, len(chosen))
            planned = self._plan(conversation, objects, tips[conversation]) if conversation in tips else None
            if planned is not None:
                self._note(planned.outgoing, "new" if self._value_there(planned.outgoing) is None else "updated")
                self._preview_refused(planned.outgoing)
        for outgoing in self._unsent.values():
            self._preview_refused(outgoing)
        return self._rows

    def _preview_refused(self, outgoing: Outgoing) -> None:
        """Change the row of a conversation of which the last fetch has refused what the remote has: it was purged here.

        Such a conversation is replaced by force, and refused otherwise; one that has nothing new is not sent.
        """
        value = read_refused(self._repository.path).get(self._remote.name, {}).get(outgoing.name.ref)
        if value is None or self._purged.find_value(outgoing.name.ref) == value:
            return
        if self._of.may_replace_purged:
            text = f"{self._remote.name} has {value[:_SHORT_OID]} there, which would be replaced: {_HAS_PURGED}"
            self._replaced[outgoing.name.root] = Note(text, _KEPT_BY_OTHERS)
            self._note(outgoing, "updated")
        elif self._of.may_replace or self._rows[outgoing.conversation].status != "unchanged":
            self._note(outgoing, "refused", explain_newer(outgoing.conversation, self._of.option))

    def describe(self) -> Iterator[Note]:
        """Yield notes about hooks, about branches that were left as they are, and about what was fetched."""
        rows, option = [row for row in self._rows.values() if row.is_shown], self._of.option
        yield from note_behind(rows, self._remote, option)
        if any(row.status in {"new", "updated"} for row in rows):
            yield from note_hooks(self._remote.address)
        yield from self._corrected
        yield from self._lost
        yield from (self._replaced[row.root] for row in rows if row.root in self._replaced and row.status == "updated")
        yield from note_deleted_there(self._repository, self.deleted_branches, self._remote.name, option)
        diverged = (row.conversation for row in rows if row.diverged)
        merging = {each: found[0].kind for each in diverged if (found := list_in_progress(self._repository, each))}
        yield from note_diverged(rows, self._remote, option, merging)
        yield from note_fetched(self.fetched, self._remote)

    def _fetch(self, names: Sequence[RemoteName]) -> dict[Oid, str]:
        """Fetch conversations whose refs have moved; return why some could not be joined, by their roots."""
        gone: dict[Oid, str] = {}
        with quarantine_of(self._repository, knows_remotes=False) as quarantine:
            try:
                specs = [refspec_of(name) for name in names]
                receipt = receive(self._repository, self._remote, quarantine, specs, self._connection, for_push=True)
            except NotFound:  # one of them was deleted there
                lost, gone = self._find_lost(names)
                specs = [refspec_of(name) for name in names if name not in lost.gone]
                receipt = receive(self._repository, self._remote, quarantine, specs, self._connection, for_push=True)
        self._purged.refresh()
        rows = [*receipt.rows]
        same = {row.root for row in rows if row.status in {"unchanged", "unacceptable"}}
        lost, _ = self._find_lost([name for name in names if name.root in same])  # it may be what was there earlier
        if self._of.may_replace:
            self._replace(lost.others, receipt.refused)
        older = {Oid(ref.rpartition("/")[2]) for ref in self._older}
        rows = [row for row in rows if row.root not in older or row.status != "unacceptable"]
        self.fetched += rows
        cures = {root: self._cure_of(error) for root, error in receipt.refused_conversations()}
        refused = {row.root: row.reason or "" for row in rows if row.status in {"refused", "unacceptable"}}
        return gone | {root: reason + cures.get(root, "") for root, reason in refused.items()}

    def _replace(self, others: Mapping[RemoteName, Oid], refused: Mapping[str, Corrupt]) -> None:
        """Mark what fails a check for replacement, with a note about it; what a newer version wrote is kept."""
        for name, value in others.items():
            error = refused.get(name.ref)
            if error is None or isinstance(error, TooNew):
                continue
            self._older[name.ref] = value
            is_purged = isinstance(error, PurgedHere)
            if is_purged and not self._of.may_replace_purged:
                continue
            what = _HAS_PURGED if is_purged else error.message
            text = f"{self._remote.name} had {value[:_SHORT_OID]} there, which was replaced: {what}"
            self._replaced[name.root] = Note(text, _KEPT_BY_OTHERS if is_purged else None)

    def _cure_of(self, error: Corrupt) -> str:
        """Return what to do about a conversation that fails a check, if its error does not say so."""
        if isinstance(error, (PurgedHere, TooNew)):
            return ""
        return f"; see who wrote it there; replace it with what is here: scopes push{self._of.option} CONV --force"

    def _find_lost(self, names: Collection[RemoteName]) -> tuple[Lost, dict[Oid, str]]:
        """Ask the remote which conversations it lost; return them, and why those gone are not sent again, by root."""
        if not names:
            return NOTHING_LOST, {}
        with quarantine_of(self._repository, knows_remotes=False) as quarantine:
            transport = self._connection.open(quarantine, self._remote.address)
            there = transport.list_refs(EVERY_REF_OF_SCOPES)
            if any(name.ref not in there for name in names):  # was it purged there?
                learn_lists(self._repository, self._remote, there, self._connection)
                self._purged.refresh()
            lost = find_lost(self._repository, self._remote.name, names, there)
        self._older = {ref: oid for ref, oid in self._older.items() if ref not in {name.ref for name in names}}
        self._older |= {name.ref: value for name, value in lost.older.items()}
        if self._force:
            forget_lost(self._repository, self._remote.name, lost)
            self._purged.refresh()
            return lost, {}
        self._lost |= dict.fromkeys(lost.explain(self._remote.name, self._of.option))
        return lost, {name.root: HELD if name.root in lost.undecided else GONE for name in lost.gone}

    def _push_once(self, waiting: Sequence[ConversationId]) -> list[_Planned]:
        """Push each conversation once, and return those whose refs the remote has moved."""
        cleared: dict[str, tuple[_Planned, RefUpdate]] = {}
        with shared_write(self._repository), new_objects(self._repository, len(waiting)) as objects:
            prunes = Prunes(self._repository.path)
            tips = read_all_tips(self._repository)
            self._find_ref = self._repository.list_refs(META, REMOTES).get  # sooner done than one by one
            for number, conversation in enumerate(waiting):
                self._connection.report("searching for secrets", number, len(waiting))
                if conversation not in tips:
                    continue  # another process has deleted it since it was chosen
                planned = self._plan(conversation, objects, tips[conversation])
                if planned is not None:
                    update = self._write_update(planned, objects)
                    cleared[update.ref] = (planned, update)
        self._searched.keep()
        if self._ahead:
            ahead, self._ahead = self._ahead, {}
            self._corrected.append(correct_clocks(self._repository, ahead))
            self._unsent = {name: each for name, each in self._unsent.items() if each.conversation not in ahead}
            return self._push_once(waiting)
        if not cleared:
            return []
        with quarantine_of(self._repository, knows_remotes=False) as quarantine:
            transport = self._connection.open(quarantine, self._remote.address)
            with exclusive_write(self._repository):
                prunes.require_none()
                values = {ref: update.new for ref, (_, update) in cleared.items() if update.new is not None}
                begin_to_send(self._repository, self._remote.name, values)
            moved, purged = self._send(transport, cleared, prunes)
            with exclusive_write(self._repository):
                end_to_send(self._repository, self._remote.name, cleared)
        return [*moved, *self._keep_restored(purged)]

    def _send(
        self, transport: GitTransport, cleared: Mapping[str, tuple[_Planned, RefUpdate]], prunes: Prunes
    ) -> tuple[list[_Planned], list[_Planned]]:
        """Send updates and record the results; return those to try again, and those with purged content.

        Nothing is fetched for the latter.
        """
        moved: list[_Planned] = []
        purged: list[_Planned] = []
        for statuses in send(transport, [update for _, update in cleared.values()]):
            before = {status.update: cleared[status.update.ref][0].outgoing.previous_oid for status in statuses}
            gone = self._remember({each.update: before[each.update] for each in statuses if each.reason is None})
            for status in statuses:
                each = cleared[status.update.ref][0]
                if status.update.ref in gone:
                    moved += [each] if list_branch_tips(self._repository, each.outgoing.conversation) else []
                    self._note(each.outgoing, "refused", PURGED_MEANWHILE)
                elif status.reason is not None and status.moved:
                    (purged if self._purged.has(each.outgoing.name.ref) else moved).append(each)
                    self._note(each.outgoing, "refused", status.reason)
                elif status.reason is not None:
                    moved += [each] if prunes.have_run() else []  # there was nothing to send any more
                    self._note(each.outgoing, "refused", status.reason)
                elif status.had_it:
                    self._note(each.outgoing, "unchanged")
                else:
                    self._note(each.outgoing, "new" if status.update.old is None else "updated")
        return moved, purged

    def _keep_restored(self, moved: Sequence[_Planned]) -> Iterator[_Planned]:
        """Yield those of which the remote has a value from before a purge, or none; add rows for the others."""
        lost, _ = self._find_lost([each.outgoing.name for each in moved])
        for each in moved:
            name, before = each.outgoing.name, each.outgoing.previous_oid
            if name in lost.others and not self._of.may_replace_purged:
                self._note(each.outgoing, "refused", explain_newer(each.outgoing.conversation, self._of.option))
                continue
            if name not in lost.others and name not in lost.older and (name not in lost.gone or before is None):
                self._never_taken.add(name)
            yield each
        if self._never_taken:
            with exclusive_write(self._repository):
                self._purged.forget(name.ref for name in self._never_taken)

    def _plan(self, conversation: ConversationId, objects: Objects, local: Mapping[BranchName, Oid]) -> _Planned | None:
        """Return what is to be sent; None if there is nothing, or if it may not be sent, which adds a row."""
        outgoing = plan_push(
            self._repository,
            self._remote.name,
            conversation,
            objects,
            force=self._of.branches.get(conversation, self._force) if self._force else False,
            restore=self._of.is_named,
            local=local,
            find_ref=self._find_ref,
        )
        self._ahead |= {conversation: outgoing.ahead} if outgoing.ahead else {}
        others = [name for name in outgoing.deleted if not self._was_deleted_here(outgoing, name)]
        self.deleted_branches |= dict.fromkeys(f"{conversation}/{name}" for name in others)
        self._restored[outgoing.name.root] = [name_branch(outgoing.name.root, name) for name in outgoing.restored]
        unmerged = (
            () if self._of.drops_unmerged else find_unmerged(self._repository, conversation, outgoing.left_out, local)
        )
        refusal = self._purged.find_refusal(outgoing)
        if refusal is None and unmerged:
            forced = self._of.branches.get(conversation, ())
            refusal = explain_unmerged(conversation, unmerged, self._remote.name, self._of.option, forced)
        refusal = refusal or self._find_unseen(outgoing, local)
        if refusal is not None:
            self._note(outgoing, "refused", refusal)
            self._rows[conversation] = replace(self._rows[conversation], unmerged=unmerged)
            return None
        if not outgoing.is_new and not self._purged.has(outgoing.name.ref) and outgoing.name.ref not in self._older:
            self._note(outgoing, "unchanged")
            self._unsent[outgoing.name] = outgoing
            return None
        try:
            cleared = clear_for_push(self._repository, objects, outgoing, self._new_gate(), before=self._searched)
            return _Planned(outgoing._replace(new=()), cleared)
        except SecretsFound as error:
            self.has_found_secrets = True
            self._note(outgoing, "refused", error.message)
            return None

    def _find_unseen(self, outgoing: Outgoing, local: Mapping[BranchName, Oid]) -> str | None:
        """Return why a forced push is refused: it would remove messages that this store had not seen; else None.

        Seen is what the remote was known to have when the push began, not what the push itself has fetched.
        """
        there = {} if outgoing.previous is None else outgoing.previous.manifest.branches
        seen = self._seen.setdefault(outgoing.name, [each.tip for each in there.values()])
        if not outgoing.left_out or all(each.tip in seen for each in outgoing.left_out):
            return None
        counts = ((each, count_unseen(self._repository, each, [*seen, *local.values()])) for each in outgoing.left_out)
        unseen = {each.branch: number for each, number in counts if number}
        if not unseen:
            return None
        return explain_unseen(outgoing.conversation, unseen, self._remote.name)

    def _note(self, outgoing: Outgoing, status: PushedStatus, reason: str | None = None) -> None:
        is_sent = status in {"new", "updated"}
        reason = reason and reason.replace(" CONV", f" {outgoing.conversation}")  # in the commands that it names
        if outgoing.unsent and reason is None:
            reason = explain_unsent(outgoing.conversation, outgoing.unsent, self._of.option)
            status = "refused" if status == "unchanged" else status
        self._rows[outgoing.conversation] = PushedConversation(
            outgoing.conversation,
            outgoing.name.root,
            status,
            len(outgoing.manifest.branches),
            outgoing.new_messages if is_sent else 0,
            outgoing.diverged,
            reason,
            outgoing.behind,
            tuple(outgoing.unsent),
            tuple(ReplacedBranch(each.branch, each.messages) for each in outgoing.left_out) if is_sent else (),
            outgoing.restored if is_sent else (),
        )

    def _was_deleted_here(self, outgoing: Outgoing, branch: BranchName) -> bool:
        """Return True for a branch that this store has deleted there, and that has no message since."""
        return name_branch(outgoing.name.root, branch) in self._deleted_here and branch not in outgoing.unsent

    def _write_update(self, planned: _Planned, objects: Objects) -> RefUpdate:
        outgoing = planned.outgoing
        before = self._value_there(outgoing)
        if not outgoing.is_new and outgoing.previous_oid is not None:  # only what was purged is new
            return RefUpdate(outgoing.name.ref, before, outgoing.previous_oid)
        return RefUpdate(outgoing.name.ref, before, outgoing.write(objects, planned.cleared))

    def _value_there(self, outgoing: Outgoing) -> Oid | None:
        ref = outgoing.name.ref
        return self._older.get(ref) or self._purged.find_value(ref) or outgoing.previous_oid

    @property
    def purged_roots(self) -> tuple[Oid, ...]:
        """Roots of conversations that were purged as a whole, and that `finish` has deleted there, or would delete."""
        return self._purged.deleted

    def finish(self, *, purged: bool, dry_run: bool) -> tuple[Note, ...]:
        """Send the list of what was purged here, and with `purged` delete what was purged as a whole."""
        done: tuple[Note, ...] = ()
        if dry_run:
            return self._purged.preview() if purged else ()
        if self._purged.is_needed(deletes=purged):
            with quarantine_of(self._repository) as quarantine:
                transport = self._connection.open(quarantine, self._remote.address)
                done = self._purged.finish(transport, deletes=purged, force=self._force and self._of.drops_unmerged)
        return (*done, *(() if purged else self._purged.note_gone(self._of.option)))

    def _remember(self, updates: Mapping[RefUpdate, Oid | None]) -> Collection[str]:
        """Record the updates that the remote has confirmed; `updates` maps them to the values known before.

        Return the refs there with content that was purged here during the push: the remote has it now.
        """
        gone: set[str] = set()
        if not updates:
            return gone
        if any(update.old is not None for update in updates):  # the remote is the one that is known
            self._unsent = {name: each for name, each in self._unsent.items() if self._purged.may_return(name.ref)}
        with exclusive_write(self._repository):
            tx = RefTransaction(self._repository)
            find_ref: Callable[[str], str | None] = self._repository.find_ref
            if len(updates) > _FEW:  # sooner done than one by one
                find_ref = self._repository.list_refs(f"{REMOTES}{self._remote.name}/").get
            for update, before in updates.items():
                ref = tracking_ref(self._remote.name, Oid(update.ref.rpartition("/")[2]))
                if update.new is not None and not self._repository.has(update.new):
                    gone.add(update.ref)
                    self._older[update.ref] = update.new
                    self._purged.keep(update.ref, update.new)
                elif find_ref(ref) == before:  # else another process has seen it since
                    tx.move_ref(ref, before, update.new)
            replaced = [update.ref for update in updates if update.ref not in gone]
            self._purged.forget(replaced)
            forget_refused(self._repository.path, self._remote.name, replaced)
            sent = [Oid(update.ref.rpartition("/")[2]) for update in updates]
            forget_gone(self._repository, self._remote.name, sent)
            again = (name for root in sent for name in self._restored.get(root, ()))
            forget_deleted(self._repository, self._of.family, [*sent, *again])
            if tx:
                count = len(updates) - len(gone)
                tx.commit("push", f"push {count} {plural(count, 'conversation')} to {self._remote.name}")
        return gone
