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
from scopes.history.metadata import Metadata, read_metadata
from scopes.history.names import MAIN, Revision, list_branch_tips
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, Oid, free_name, is_name, is_oid, parse_branch_name
from scopes.merge.plan import list_conflicts_at, open_conflicts_at
from scopes.model.conflicts import Conflict
from scopes.model.conversation import (
    CONFLICT_RESOLUTION,
    OPEN,
    WAITING,
    BranchEntry,
    MergeRequest,
)
from scopes.model.conversation import (
    MERGED_REQUEST as MERGED,
)
from scopes.model.operation import Operation
from scopes.result import Note
from scopes.store import refs
from scopes.store.graph import is_ancestor, list_new_commits
from scopes.store.operations import walk_operations
from scopes.store.repository import Objects, Repository

PURPOSE = CONFLICT_RESOLUTION
HELD = "branch"
SIDES = "sides"
"""The key of the source and the target, in the entry or the operation of a resolution that has ended."""
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


def entry_in_progress(
    entry: BranchEntry,
    *,
    kind: str,
    target: str,
    target_tip: Oid,
    source: str,
    source_tip: Oid,
    before: BranchName,
    stopped: Oid,
    details: Mapping[str, Any] | None = None,
) -> BranchEntry:
    """Return the metadata entry of a conflict-resolution branch; the fields are those of `InProgress`."""
    document = {
        "kind": kind,
        "target": target,
        "target_tip": target_tip,
        "source": source,
        "source_tip": source_tip,
        "before": before,
        "stopped": stopped,
        **(details or {}),
    }
    return replace(entry, extra={**entry.extra, WAITING: document})


def entry_finished(entry: BranchEntry, status: str) -> BranchEntry:
    """Return the metadata entry of a conflict-resolution branch whose resolution has ended; it keeps the two sides."""
    extra = {key: value for key, value in entry.extra.items() if key != WAITING}
    match entry.extra.get(WAITING):
        case {"source": str(source), "target": str(target)}:
            extra[SIDES] = {"source": source, "target": target}
    return replace(entry, status=status, extra=extra)


def list_in_progress(repository: Repository, conversation: ConversationId) -> list[InProgress]:
    """Return what is in progress in a conversation, the oldest first; entries of deleted branches do not count."""
    entries = read_metadata(repository, conversation).branches
    return decode_in_progress(conversation, entries, list_branch_tips(repository, conversation))


def decode_in_progress(
    conversation: ConversationId, entries: Mapping[BranchName, BranchEntry], tips: Mapping[BranchName, Oid]
) -> list[InProgress]:
    """Return what is in progress with given metadata entries and tips of branches; see `list_in_progress`."""
    found = (_decode(conversation, name, tips[name], entry) for name, entry in entries.items() if name in tips)
    return sorted((each for each in found if each is not None), key=lambda each: (each.entry.created, each.branch))


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
    entry = read_metadata(repository, conversation).branches.get(branch, BranchEntry())
    found = next((each for each in list_in_progress(repository, conversation) if each.branch == branch), None)
    state = "a conflict-resolution branch" if found is None else describe_in_progress(found)
    target = (entry.parent or MAIN) if found is None else moving_branch(found)
    return (
        Note(
            f"this is the active branch, {branch}: {state}",
            f"the target: scopes {verb} {quote(conversation)}/{quote(target)}",
        ),
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


def _decode(conversation: ConversationId, name: BranchName, tip: Oid, entry: BranchEntry) -> InProgress | None:
    match entry.extra.get(WAITING):
        case {
            "kind": str(kind),
            "target": str(target),
            "target_tip": str(target_tip),
            "source": str(source),
            "source_tip": str(source_tip),
            "before": str(before),
            "stopped": str(stopped),
            **details,
        }:
            return InProgress(
                conversation=conversation,
                branch=name,
                tip=tip,
                entry=entry,
                kind=kind,
                target=BranchName(target),
                target_tip=Oid(target_tip),
                source=source,
                source_tip=Oid(source_tip),
                before=BranchName(before),
                stopped=Oid(stopped),
                details={str(key): value for key, value in details.items()},
            )
    return None


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
        names = ", ".join(str(each.branch if kind == "merge" else moving_branch(each)) for each in found)
        raise Ambiguous(f"several {kind}s are in progress in {conversation}", hint=f"name one with --branch: {names}")
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
    """Set or remove the entry of a conflict-resolution branch; return the branch that becomes active instead."""
    tx.set_branch_entry(in_progress.branch, entry)
    active = _branch_after(tx.repository, in_progress)
    tx.activate(active)
    return active


def _branch_after(repository: Repository, in_progress: InProgress) -> BranchName:
    """Return the branch that becomes active at the end of a resolution: the one before, what moves, main, or any.

    The conflict-resolution branch itself is none of them while there is another branch: an abort deletes it. Nor is one
    that has ended since: what is appended there is on no other branch.
    """
    tips = list_branch_tips(repository, in_progress.conversation)
    own = in_progress.branch
    waiting = {each.branch for each in list_in_progress(repository, in_progress.conversation)} - {own}
    names = (in_progress.before, moving_branch(in_progress), MAIN, *sorted(tips))
    return next((n for n in names if n in tips and (n in waiting or not n.startswith(f"{PURPOSE}/"))), own)


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


def _dropped_messages(repository: Repository, in_progress: InProgress, operation: Operation) -> tuple[Note, ...]:
    """Return a note with the number of messages that were on a conflict-resolution branch alone.

    There is none if the record names no commit of the store as the one with the conflicts.
    """
    if not is_oid(in_progress.stopped) or not repository.has(in_progress.stopped):
        return ()
    count = len(list(list_new_commits(repository, in_progress.tip, in_progress.stopped)))
    if not count:
        return ()
    text = f"{count} message{'s' if count > 1 else ''} on {in_progress.branch} went with it"
    return (Note(text, f"restore the branch: scopes undo {operation.id[:8]}"),)


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
    return active, operation, _dropped_messages(repository, in_progress, operation)


def list_order(conflict: Conflict) -> tuple[str, str]:
    """Return the sort key of conflicts that were not resolved automatically: their order is that of their numbers."""
    return conflict.key, conflict.id


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
    count = len(open_conflicts_at(repository, in_progress.tip))
    if count:
        raise Conflicted(
            f"{count} conflict{'s are' if count > 1 else ' is'} still open on {where}",
            hint=f"see: scopes conflicts list {quote(in_progress.conversation)}",
        )


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


def resolution_branch(taken: Mapping[BranchName, Oid], source: str, target: str, *, joined: str = "into") -> BranchName:
    """Return `conflict-resolution/<source>-into-<target>`, with `-2`, `-3` ... appended if that name is taken.

    Several picked messages (`a, b, c`) are the first of them and a number: `a-and-2-more`.
    """
    first, *others = source.split(", ")
    shown = f"{first}-and-{len(others)}-more" if others else first
    flat = f"{shown}-{joined}-{target}".replace("/", "-")[:_MAX_STEM_LENGTH].rstrip(".")
    stem = f"{PURPOSE}/{flat if is_name(flat) else 'merge'}"
    return parse_branch_name(free_name(stem, taken))


def mark_merged(tx: Transaction, source: str, target: BranchName, tip: Oid) -> None:
    """Record in the operation of a merge that it completes the open requests to merge `source` into `target`."""
    for request in read_metadata(tx.repository, tx.conversation).requests.values():
        if (request.state, request.source, request.target) == (OPEN, source, target):
            ended_by = tx.repository.caller.actor
            tx.set_request(replace(request, state=MERGED, ended=now(), ended_by=ended_by, merge=tip))


def rename_in_requests(tx: Transaction, metadata: Metadata, old: BranchName, new: BranchName) -> None:
    """Give a branch its new name in the open requests."""
    for request in metadata.requests.values():
        if request.state == OPEN and old in {request.source, request.target}:
            source, target = (new if name == old else name for name in (request.source, request.target))
            tx.set_request(replace(request, source=source, target=target))


def state_now(repository: Repository, request: MergeRequest, tips: Mapping[BranchName, Oid]) -> str:
    """Return the state of a request; merged also if the target has the source although no merge recorded it.

    A source that was rewound behind its tip of then is not merged.
    """
    target = tips.get(request.target)
    if request.state != OPEN or target is None:
        return request.state
    tip = tips.get(request.source, request.source_tip)
    if not is_known_ancestor(repository, tip, target):
        return OPEN
    then = request.source_tip
    was_rewound = tip != then and is_known_ancestor(repository, tip, then)
    return OPEN if was_rewound and not is_known_ancestor(repository, then, target) else MERGED


def is_known_ancestor(repository: Repository, ancestor: Oid, tip: Oid) -> bool:
    """Return True if `ancestor` is reachable from `tip`; False if one of them is no commit of the store.

    A received request can name any object.
    """
    try:
        return is_ancestor(repository, ancestor, tip)
    except NotFound:
        return False
