"""Messages put on top of another commit: what each of them changed is merged into the state that it finds there.

A message keeps its bytes, its id and its time; only its parent and its state are new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scopes.conversation.heads import STATE_DIRECTORY, message_id_of, read_message
from scopes.conversation.merging.plan import MergePlan, plan_of, write_state
from scopes.conversation.merging.settling import Policy
from scopes.conversation.merging.states import Divergence, Side, moves_by_subject, moves_on, state_of
from scopes.conversation.merging.subjects import subject_of
from scopes.ids import MessageId, Oid
from scopes.model.claims import claims_of
from scopes.model.conflict import Conflict
from scopes.model.message import Message
from scopes.result import Note
from scopes.store.objects import COMMIT, EMPTY_TREE, TREE, Commit, Entry, format_commit, format_tree
from scopes.store.repository import Objects, read_commit, read_tree
from scopes.store.trees import Change, find_blob, update_tree


class Moved(NamedTuple):
    """A message with its former and its present commit."""

    id: MessageId
    old: Oid
    new: Oid


class Stop(NamedTuple):
    """A message with open conflicts: its former commit, and the present one, which stands on `parent`."""

    id: MessageId
    old: Oid
    new: Oid
    parent: Oid


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Messages on top of another commit, up to the end or up to the first that has open conflicts.

    `conflicts` are the open ones and those that were settled on the way, `todo` the former commits behind the stop.
    """

    tip: Oid
    moved: tuple[Moved, ...]
    stop: Stop | None = None
    conflicts: tuple[Conflict, ...] = ()
    todo: tuple[Oid, ...] = ()
    notes: tuple[Note, ...] = ()


def replay_line(
    objects: Objects, onto: Oid, commits: Sequence[Commit], policy: Policy, beside: Sequence[Commit]
) -> Line:
    """Put messages on top of `onto`, one after the other; one that stands there already keeps its commit.

    `beside` are the commits of the new place that the old one has not, oldest first; they tell who said what there.
    Nothing but objects is written.
    """
    place = _Place(onto, beside)
    moved: list[Moved] = []
    settled: list[Conflict] = []
    notes: dict[Note, None] = {}
    for number, commit in enumerate(commits, 1):
        oid, plan = (commit.oid, None) if commit.parents == (place.tip,) else _replay(objects, place, commit, policy)
        if plan is not None:
            settled += (conflict for conflict in plan.conflicts if conflict.resolution is not None)
            notes |= dict.fromkeys(plan.notes)
            if plan.open_conflicts:
                return Line(
                    tip=place.tip,
                    moved=tuple(moved),
                    stop=Stop(message_id_of(commit), commit.oid, oid, place.tip),
                    conflicts=(*plan.open_conflicts, *settled),
                    todo=tuple(later.oid for later in commits[number:]),
                    notes=tuple(notes),
                )
        moved.append(Moved(message_id_of(commit), commit.oid, oid))
        place.advance(objects, oid)
    return Line(tip=place.tip, moved=tuple(moved), conflicts=tuple(settled), notes=tuple(notes))


class _Place:
    """Where the next message is put: a tip, and what stands below it that the message's old place has not."""

    def __init__(self, tip: Oid, beside: Sequence[Commit]) -> None:
        self.tip = tip
        self.beside = list(beside)
        self.known = {message_id_of(commit) for commit in beside}

    def advance(self, objects: Objects, tip: Oid) -> None:
        self.tip = tip
        self.beside.append(read_commit(objects, tip))


def _replay(objects: Objects, place: _Place, commit: Commit, policy: Policy) -> tuple[Oid, MergePlan]:
    """Write one message at its new place; with open conflicts its state still stands as the new parent has it there."""
    message = read_message(objects, commit.oid)
    concerns_others = message.retracts is not None or message.id in place.known
    plan = _plan(objects, place, commit, policy, whole=concerns_others)
    if plan.conflicts and not concerns_others:
        plan = _plan(objects, place, commit, policy, whole=True)  # now they have to be named
    state = _with_claims(objects, write_state(objects, plan), message, plan)
    return _write(objects, place.tip, commit, state), plan


def _plan(objects: Objects, place: _Place, commit: Commit, policy: Policy, *, whole: bool) -> MergePlan:
    beside = place.beside if whole else ()
    return plan_of(objects, divergence_of(objects, place.tip, commit, beside), policy)


def divergence_of(objects: Objects, onto: Oid, commit: Commit, beside: Sequence[Commit] = ()) -> Divergence:
    """Compare what one message changed with what its new place has of that, over the message's old parent.

    However much else differs there is not looked at: that is as much for every message of a long branch.
    """
    parent = commit.parents[0] if commit.parents else None
    base = None if parent is None else state_of(objects, parent)
    state, there = state_of(objects, commit.oid), state_of(objects, onto)
    changed = moves_by_subject(objects, base, state)
    target = Side(onto, there, tuple(beside), moves_on(objects, base, there, changed))
    source = Side(commit.oid, state, (commit,), changed)
    return Divergence(target, source, () if parent is None else (parent,), base)


def _with_claims(objects: Objects, state: Oid | None, message: Message, plan: MergePlan) -> Oid | None:
    """Add what the message says where the new place says nothing; the old one may have said the same before it."""
    contested = {conflict.key for conflict in plan.conflicts}
    before, after = plan.divergence.base_state, plan.divergence.source.state
    missing: dict[str, Change] = {
        path: claim
        for path, claim in claims_of(message, lambda path: _blob(objects, before, path))
        if _blob(objects, state, path) is None
        and _blob(objects, after, path) == claim
        and subject_of(path) not in contested
    }
    return update_tree(objects, state, missing) if missing else state


def _blob(objects: Objects, state: Oid | None, path: str) -> bytes | None:
    return None if state is None else find_blob(objects, state, path)


def _write(objects: Objects, parent: Oid, commit: Commit, state: Oid | None) -> Oid:
    """Write a commit anew over another parent and with another state; everything else in its tree stays."""
    entries = {name: entry for name, entry in read_tree(objects, commit.tree).items() if name != STATE_DIRECTORY}
    if state is not None and state != EMPTY_TREE:
        entries[STATE_DIRECTORY] = Entry(STATE_DIRECTORY, state, is_tree=True)
    data = format_commit(
        tree=objects.write(TREE, format_tree(entries.values())),
        parents=(parent,),
        author=commit.author,
        time=commit.time,
        subject=commit.subject,
        trailers=commit.trailers.items(),
    )
    return objects.write(COMMIT, data)
