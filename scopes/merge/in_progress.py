"""Merges and rebases that wait for a resolution: branches of purpose `conflict-resolution` that say what for.

There is no hidden state: what `--continue` and `--abort` need stands in the branch's metadata, so that another process
or another machine can go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from scopes.errors import Ambiguous, Conflicted, NotFound
from scopes.history.metadata import read_metadata
from scopes.history.revparse import list_branch_tips
from scopes.ids import BranchName, ConversationId, Oid, is_name, parse_branch_name
from scopes.merge.divergence import state_of
from scopes.model.conflict import Conflict, decode_conflict
from scopes.model.conversation import BranchEntry
from scopes.store.repository import Objects, Repository, read_tree
from scopes.store.trees import find_entry, read_blob

PURPOSE = "conflict-resolution"
WAITING = "waiting"
_LONGEST_STEM = 150
_NONE = "no merge or rebase waits for a resolution in"


@dataclass(frozen=True, slots=True)
class InProgress:
    """A merge, rebase or cherry-pick that stopped on conflicts, at `stopped`; `before` was the active branch then."""

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


def waiting_entry(entry: BranchEntry, document: Mapping[str, Any]) -> BranchEntry:
    """Describe a branch that waits for a resolution."""
    return replace(entry, extra={**entry.extra, WAITING: dict(document)})


def resolved_entry(entry: BranchEntry, status: str) -> BranchEntry:
    """Describe the branch once it waits no more."""
    return replace(entry, status=status, extra={key: value for key, value in entry.extra.items() if key != WAITING})


def list_in_progress(repository: Repository, conversation: ConversationId) -> list[InProgress]:
    """Return what waits in a conversation, by branch; a branch that somebody deleted waits no more."""
    tips = list_branch_tips(repository, conversation)
    entries = read_metadata(repository, conversation).branches
    found = (_pending(conversation, name, tips[name], entry) for name, entry in entries.items() if name in tips)
    return sorted((each for each in found if each is not None), key=lambda pending: pending.branch)


def _pending(conversation: ConversationId, name: BranchName, tip: Oid, entry: BranchEntry) -> InProgress | None:
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


def find_only_in_progress(
    repository: Repository, conversation: ConversationId, branch: str | None, *kinds: str
) -> InProgress:
    """Return the one that waits, or the one on the named branch.

    Raises:
        NotFound: nothing waits.
        Ambiguous: several wait and none is named.
    """
    found = [
        pending
        for pending in list_in_progress(repository, conversation)
        if (not kinds or pending.kind in kinds) and (branch is None or pending.branch == branch)
    ]
    if not found:
        raise _nothing_waits(repository, conversation, branch, kinds)
    if len(found) > 1:
        names = ", ".join(f"{conversation}/{pending.branch}" for pending in found)
        raise Ambiguous(f"several wait for a resolution in {conversation}", hint=f"name one of: {names}")
    return found[0]


def _nothing_waits(
    repository: Repository, conversation: ConversationId, branch: str | None, kinds: tuple[str, ...]
) -> NotFound:
    """Say that nothing of these kinds waits, and what does."""
    where = conversation if branch is None else f"{conversation}/{branch}"
    waiting = list_in_progress(repository, conversation)
    other = next((pending for pending in waiting if branch in {None, pending.branch}), None)
    if other is not None and kinds:
        hint = f"a {other.kind} does: scopes conv {other.kind} {conversation} --continue"
        return NotFound(f"no {kinds[0]} waits for a resolution in {where}", hint=hint)
    return NotFound(f"{_NONE} {where}", hint=f"see: scopes conflicts list {conversation}")


def list_conflicts_at(objects: Objects, tip: Oid) -> dict[str, Conflict]:
    """Return the records of conflicts that a tip holds, by id, in the order that numbers them."""
    state = state_of(objects, tip)
    entry = None if state is None else find_entry(objects, state, "conflicts")
    if entry is None or not entry.is_tree:
        return {}
    records = (decode_conflict(read_blob(objects, each.oid)) for each in read_tree(objects, entry.oid).values())
    return {record.id: record for record in sorted(records, key=lambda each: (each.key, each.type))}


def list_conflicts_of(objects: Objects, pending: InProgress) -> list[Conflict]:
    """Return the conflicts that wait or were resolved on the branch, in the order that numbers them.

    What was resolved before stays recorded in the history of both sides, and is none of them.
    """
    former = [list_conflicts_at(objects, tip) for tip in (pending.target_tip, pending.source_tip)]
    found = list_conflicts_at(objects, pending.tip).values()
    return [each for each in found if each.status != "resolved" or all(known.get(each.id) != each for known in former)]


def open_conflicts_at(objects: Objects, tip: Oid) -> list[Conflict]:
    """Return the conflicts that are open at a tip."""
    return [record for record in list_conflicts_at(objects, tip).values() if record.status != "resolved"]


def require_resolved(objects: Objects, tip: Oid, what: str) -> None:
    """Refuse to take a history in, or to build on one, that still disagrees with itself.

    Raises:
        Conflicted: it has open conflicts.
    """
    found = open_conflicts_at(objects, tip)
    if found:
        raise Conflicted(
            f"{what} has {len(found)} open conflict{'s' if len(found) > 1 else ''}",
            hint="resolve them first: scopes conflicts list",
        )


def resolution_branch(taken: Mapping[BranchName, Oid], source: str, target: str, *, joined: str = "into") -> BranchName:
    """Name the branch of a resolution: `conflict-resolution/<source>-into-<target>`, or the next free one."""
    flat = f"{source}-{joined}-{target}".replace("/", "-")[:_LONGEST_STEM].rstrip(".")
    stem = f"{PURPOSE}/{flat if is_name(flat) else 'merge'}"
    count, name = 1, stem
    while name in taken:
        count += 1
        name = f"{stem}-{count}"
    return parse_branch_name(name)
