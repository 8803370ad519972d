"""Save, list and abort the merges, rebases and cherry-picks that stopped on conflicts.

The state of each is in the metadata entry of its conflict-resolution branch, so that another process can continue or
abort it; a push leaves it out. The fields that only a replay has are read by `replay`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any, NamedTuple

from scopes.clock import now
from scopes.errors import Ambiguous, Conflicted, NotFound, Refused
from scopes.history.metadata import read_metadata
from scopes.history.names import MAIN, Revision, list_branch_tips, read_active_branch
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, Oid, free_name, is_name, parse_branch_name
from scopes.merge.plan import list_conflicts_at, open_conflicts_at
from scopes.merge.resolve import list_order
from scopes.model.conflicts import Conflict
from scopes.model.conversation import CONFLICT_RESOLUTION, WAITING, BranchEntry
from scopes.model.operation import Operation
from scopes.result import Note, plural
from scopes.store import refs
from scopes.store.graph import is_ancestor, list_new_commits
from scopes.store.objects import Objects
from scopes.store.operations import walk_operations
from scopes.store.repository import Repository

PURPOSE = CONFLICT_RESOLUTION
HELD = "branch"
SIDES = "sides"
"""The key of the source and the target, in the entry or the operation of a resolution that has ended."""
_FIELDS = "kind", "target", "target_tip", "source", "source_tip", "before", "stopped"
_BRANCH_FIELDS = "target", "source", "before", "branch", "parent"
_MAX_STEM_LENGTH = 150


@dataclass(frozen=True, slots=True)
class InProgress:
    """A merge, rebase or cherry-pick that stopped on conflicts.

    Attributes:
        branch: The conflict-resolution branch; `tip` and `entry` are its tip and its metadata entry.
        target, source: The two sides as shown in conflicts; `target_tip` and `source_tip` are their commits when it
            stopped.
        before: The branch that was active before.
        stopped: The commit with the conflicts.
        details: What only a replay needs; see `replay.ReplayState`.
    """

    conversation: ConversationId
    branch: BranchName
    tip: Oid
    entry: BranchEntry
    kind: str
    target: BranchName
    target_tip: Oid
    source: str
    source_tip: Oid
    before: BranchName
    stopped: Oid
    details: Mapping[str, Any]


class OthersInProgress(NamedTuple):
    """How many others are in progress in a conversation, and how many of their conflicts are listed before the own."""

    conflicts: int = 0
    total: int = 0


NO_OTHERS = OthersInProgress()


def stop(tx: Transaction, found: InProgress | None, document: dict[str, Any], *, activate: bool) -> BranchName:
    """Put a commit with conflicts on a conflict-resolution branch, and what is in progress into its entry.

    found: what is in progress already, and stops again: it keeps its branch
    document: the fields of `InProgress` that are not known here, and what only a replay has
    """
    if found is None:
        tips, before = (
            list_branch_tips(tx.repository, tx.conversation),
            read_active_branch(tx.repository, tx.conversation),
        )
        joined = "onto" if document["kind"] == "rebase" else "into"
        name, old = _resolution_branch(tips, document["source"], document["target"], joined=joined), None
        parent = document.get("branch", document["target"])  # what moves at the end
        entry = BranchEntry(purpose=PURPOSE, parent=parent, fork=document["target_tip"], created=now())
    else:
        name, entry, old, before = found.branch, found.entry, found.tip, found.before
        entry = entry if found.kind == "merge" else replace(entry, fork=document["target_tip"])
    tx.move_branch(name, old, document["stopped"])
    tx.set_branch_entry(name, replace(entry, extra={**entry.extra, WAITING: {**document, "before": before}}))
    if activate:
        tx.activate(name)
    return name


def _resolution_branch(taken: Mapping[BranchName, Oid], source: str, target: str, *, joined: str) -> BranchName:
    """Return `conflict-resolution/<source>-into-<target>`, with `-2`, `-3` ... appended if that name is taken.

    Several picked messages (`a, b, c`) are the first of them and a number: `a-and-2-more`.
    """
    first, *others = source.split(", ")
    shown = f"{first}-and-{len(others)}-more" if others else first
    flat = f"{shown}-{joined}-{target}".replace("/", "-")[:_MAX_STEM_LENGTH].rstrip(".")
    stem = f"{PURPOSE}/{flat if is_name(flat) else 'merge'}"
    return parse_branch_name(free_name(stem, taken))


def entry_finished(entry: BranchEntry, status: str) -> BranchEntry:
    """Return the metadata entry of a conflict-resolution branch whose resolution has ended; it keeps the two sides."""
    extra = {key: value for key, value in entry.extra.items() if key != WAITING}
    match entry.extra.get(WAITING):
        case {"source": str(source), "target": str(target)}:
            extra[SIDES] = {"source": source, "target": target}
    return replace(entry, status=status, extra=extra)


def list_in_progress(repository: Repository, conversation: ConversationId) -> list[InProgress]:
    """Return what is in progress in a conversation, the oldest first; entries of deleted branches do not count."""
    found, tips = [], list_branch_tips(repository, conversation)
    for name, entry in read_metadata(repository, conversation).branches.items():
        document = entry.extra.get(WAITING)
        if name in tips and document is not None:
            fields = {field: document[field] for field in _FIELDS}
            details = {key: value for key, value in document.items() if key not in _FIELDS}
            found.append(InProgress(conversation, name, tips[name], entry, **fields, details=details))
    return sorted(found, key=lambda each: (each.entry.created, each.branch))


def read_others(repository: Repository, conversation: ConversationId, branch: BranchName) -> OthersInProgress:
    """Return what is in progress in a conversation besides what a conflict-resolution branch is for."""
    everything = list_in_progress(repository, conversation)
    names = [each.branch for each in everything]
    listed_before = everything[: names.index(branch)] if branch in names else everything
    conflicts = sum(len(list_conflicts_of(repository, each)) for each in listed_before)
    return OthersInProgress(conflicts=conflicts, total=len(names) - (branch in names))


def describe_in_progress(in_progress: InProgress) -> str:
    """Return what is in progress as text: `the merge of fix into main is in progress`."""
    preposition = "onto" if in_progress.kind == "rebase" else "into"
    return f"the {in_progress.kind} of {in_progress.source} {preposition} {in_progress.target} is in progress"


def next_command(repository: Repository, in_progress: InProgress) -> str:
    """Return the command that continues what is in progress, or that lists its open conflicts."""
    if open_conflicts_at(repository, in_progress.tip):
        return f"scopes conflicts list {quote(in_progress.conversation)}"
    return f"scopes {quote(in_progress.kind)} {quote(in_progress.conversation)} --continue"


def resolution_branch_notes(repository: Repository, revision: Revision, text: str, verb: str) -> tuple[Note, ...]:
    """Return a note if a reader gets a conflict-resolution branch because it is the active one.

    `text` is the name that was given for the revision: a branch that it names needs no note. `verb` reads it.
    """
    conversation, branch = revision.conversation, revision.branch
    if branch is None or not branch.startswith(f"{PURPOSE}/") or "/" in text:
        return ()
    found = (each for each in list_in_progress(repository, conversation) if each.branch == branch)
    return tuple(
        Note(
            f"this is the active branch, {branch}: {describe_in_progress(each)}",
            f"the target: scopes {verb} {quote(conversation)}/{quote(moving_branch(each))}",
        )
        for each in found
    )


def moving_branch(in_progress: InProgress) -> BranchName:
    """Return the branch that moves at the end: the target of a merge, the own branch of a rebase."""
    branch = in_progress.details.get("branch")
    return BranchName(branch) if isinstance(branch, str) else in_progress.target


def holding(
    repository: Repository,
    conversation: ConversationId,
    branch: BranchName,
    tip: Oid,
    operation: Operation | None = None,
) -> InProgress:
    """Describe a branch that only holds records of conflicts; nothing is in progress on it. Its kind is HELD.

    Such a branch began on a conflict-resolution branch, or a finished merge is in its history. One that is gone is
    described as the operation that deleted it found it.
    """
    entry = read_metadata(repository, conversation).branches.get(branch, BranchEntry())
    sides = entry.extra.get(SIDES)
    if operation is not None:
        entry, sides = replace(entry, created=operation.time), operation.details.get(SIDES)
    source, target = "", branch
    match sides:
        case {"source": str(source), "target": str(name)}:
            target = BranchName(name)
    return InProgress(conversation, branch, tip, entry, HELD, target, tip, source, tip, branch, tip, {})


def sides_of(in_progress: InProgress) -> dict[str, Any]:
    """Return the source and the target as details of an operation that ends what is in progress."""
    return {SIDES: {"source": in_progress.source, "target": in_progress.target}}


def find_in_progress(repository: Repository, conversation: ConversationId, branch: str | None, kind: str) -> InProgress:
    """Return the merge, rebase or cherry-pick in progress; `branch` is the branch that moves, or where it stopped.

    Raises:
        NotFound: there is none of that kind.
        Ambiguous: there are several and no branch is named.
    """
    everything = list_in_progress(repository, conversation)
    named = [each for each in everything if branch in {None, each.branch, moving_branch(each)}]
    found = [each for each in named if each.kind == kind]
    where = conversation if branch is None else f"{conversation}/{branch}"
    if not found:
        hint = "what is open in any conversation: scopes conflicts list"
        if named:
            hint = f"a {named[0].kind} is: scopes {quote(named[0].kind)} {quote(conversation)} --continue"
        raise NotFound(f"no {kind} is in progress in {where}", hint=hint)
    if len(found) > 1:
        places = (each.branch if kind == "merge" else moving_branch(each) for each in found)
        names = ", ".join(f"{conversation}/{name}" for name in places)
        raise Ambiguous(f"several {kind}s are in progress in {conversation}", hint=f"name one: {names}")
    return found[0]


def require_free(repository: Repository, conversation: ConversationId, branch: BranchName, *kinds: str) -> None:
    """Refuse to rewrite a branch that takes part in something in progress (of one of some kinds, if they are named).

    Raises:
        Refused: a merge, rebase or cherry-pick of it is in progress, or its conflicts are resolved on it.
    """
    for each in list_in_progress(repository, conversation):
        moving = moving_branch(each)
        if branch in {each.branch, moving} and (not kinds or each.kind in kinds):
            verb = f"scopes {quote(each.kind)} {quote(conversation)}"
            raise Refused(
                f"a {each.kind} of {conversation}/{moving} is in progress on {each.branch}",
                hint=f"first: {verb} --continue, or {verb} --abort",
            )


def end_resolution(tx: Transaction, in_progress: InProgress, entry: BranchEntry | None) -> BranchName:
    """Set or remove the entry of a conflict-resolution branch; return the branch that becomes active instead.

    That is the one before, what moves, main, or any. The conflict-resolution branch itself is none of them while there
    is another branch: an abort deletes it. Nor is one that has ended since: what is appended there is on no other one.
    """
    tx.set_branch_entry(in_progress.branch, entry)
    tips, own = list_branch_tips(tx.repository, in_progress.conversation), in_progress.branch
    waiting = {each.branch for each in list_in_progress(tx.repository, in_progress.conversation)} - {own}
    names = (in_progress.before, moving_branch(in_progress), MAIN, *sorted(tips))
    active = next((n for n in names if n in tips and (n in waiting or not n.startswith(f"{PURPOSE}/"))), own)
    tx.activate(active)
    return active


def follow_rename(entry: BranchEntry, old: BranchName, new: BranchName) -> BranchEntry:
    """Return a metadata entry in which a branch has its new name: as the parent, and in what is in progress."""
    document = entry.extra.get(WAITING)
    extra = dict(entry.extra)
    if isinstance(document, dict):
        renamed = {key: new for key in _BRANCH_FIELDS if document.get(key) == old}
        extra[WAITING] = {**document, **renamed}
    return replace(entry, parent=new if entry.parent == old else entry.parent, extra=extra)


def restore_hint(repository: Repository, conversation: ConversationId, branch: BranchName) -> str:
    """Return how to restore a deleted branch: the undo of the operation that deleted it."""
    ref = refs.branch_ref(conversation, branch)
    for _, operation in walk_operations(repository):
        if any(change.ref == ref and change.new is None for change in operation.changes):
            return f"restore it: scopes undo {quote(operation.id[:8])}"
    return "restore it: scopes undo"


def abort(repository: Repository, in_progress: InProgress) -> tuple[BranchName, Operation, tuple[Note, ...]]:
    """Delete a conflict-resolution branch; return the branch that is active then, the operation, and notes."""
    tx = Transaction(repository, in_progress.conversation)
    active = end_resolution(tx, in_progress, None)
    tx.move_branch(in_progress.branch, in_progress.tip, None)
    summary = f"abort {in_progress.conversation}/{in_progress.branch}"
    operation = tx.commit(
        f"{in_progress.kind}-abort",
        summary,
        metadata_message=f"abort {in_progress.branch}",
        details=sides_of(in_progress),
    )
    new = (
        list_new_commits(repository, in_progress.tip, in_progress.stopped)
        if repository.has(in_progress.stopped)
        else ()
    )
    if not new:
        return active, operation, ()
    text = f"{len(new)} {plural(len(new), 'message')} on {in_progress.branch} went with it"
    return active, operation, (Note(text, f"restore the branch: scopes undo {quote(operation.id[:8])}"),)


def list_conflicts_of(objects: Objects, in_progress: InProgress) -> list[Conflict]:
    """Return the conflicts of a conflict-resolution branch, resolved ones included, in the order that numbers them.

    Conflicts that were already resolved in the source or in the target are left out.
    """
    former = [
        list_conflicts_at(objects, tip) for tip in (in_progress.target_tip, in_progress.source_tip, in_progress.stopped)
    ]
    found = sorted(list_conflicts_at(objects, in_progress.tip).values(), key=list_order)
    return [each for each in found if each.status != "resolved" or all(known.get(each.id) != each for known in former)]


def require_resolved(objects: Objects, conversation: ConversationId, tip: Oid, what: str) -> None:
    """Refuse a commit whose state has open conflicts; `what` names it in the message.

    Raises:
        Conflicted: it has open conflicts.
    """
    found = open_conflicts_at(objects, tip)
    if found:
        raise Conflicted(
            f"{what} has {len(found)} open conflict{'s' if len(found) > 1 else ''}",
            hint=f"resolve them first: scopes conflicts list {quote(conversation)}",
        )


def require_resolved_on_branch(repository: Repository, in_progress: InProgress) -> None:
    """Refuse to continue while conflicts are open, or after a rewind behind the commit with the conflicts.

    Raises:
        Refused: the branch was rewound: what it stopped at would be lost.
        Conflicted: with the number of open conflicts.
    """
    where = f"{in_progress.conversation}/{in_progress.branch}"
    if not is_ancestor(repository, in_progress.stopped, in_progress.tip):
        command = f"scopes {quote(in_progress.kind)} {quote(in_progress.conversation)} --abort"
        hint = f"undo that: scopes undo, or abort it: {command}"
        raise Refused(f"{where} no longer contains the commit that it stopped at", hint=hint)
    require_resolved(repository, in_progress.conversation, in_progress.tip, where)


def read_moving_tip(repository: Repository, in_progress: InProgress) -> Oid:
    """Return the present tip of the branch that moves at the end.

    Raises:
        NotFound: the branch was deleted.
    """
    conversation, branch = in_progress.conversation, moving_branch(in_progress)
    tip = list_branch_tips(repository, conversation).get(branch)
    if tip is None:
        command = f"scopes {quote(in_progress.kind)} {quote(conversation)} --abort"
        hint = f"{restore_hint(repository, conversation, branch)}, or abort: {command}"
        raise NotFound(f"{conversation}/{branch} was deleted", hint=hint)
    return tip
