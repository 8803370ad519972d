"""Messages put on top of another commit: what each of them changed is merged into the state that it finds there.

A message keeps its bytes, its id and its time; only its parent and its state are new.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scopes.errors import Refused
from scopes.history.messages import KIND_TRAILER, MESSAGE_FILE, STATE_DIRECTORY, message_id_of, read_message
from scopes.ids import MessageId, Oid
from scopes.merge.auto_resolve import Policy
from scopes.merge.conflict_keys import subject_of
from scopes.merge.detection import find_disagreements
from scopes.merge.divergence import Divergence, Side, changes_by_key, changes_on, find_divergence, state_of
from scopes.merge.plan import MergePlan, plan_of, write_state
from scopes.model.claims import claims_of
from scopes.model.conflict import Conflict
from scopes.model.message import Message
from scopes.result import Note
from scopes.store.graph import list_merge_bases, list_new_commits
from scopes.store.objects import COMMIT, EMPTY_TREE, TREE, Commit, Entry, format_commit, format_tree
from scopes.store.repository import Objects, Repository, read_commit, read_tree
from scopes.store.trees import Change, find_blob, update_tree


class Rewrite(NamedTuple):
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
class ReplayResult:
    """Messages on top of another commit, up to the end or up to the first that has open conflicts.

    `conflicts` are the open ones and those that were settled on the way, `todo` the former commits behind the stop.
    """

    tip: Oid
    moved: tuple[Rewrite, ...]
    stop: Stop | None = None
    conflicts: tuple[Conflict, ...] = ()
    todo: tuple[Oid, ...] = ()
    notes: tuple[Note, ...] = ()


def replay_commits(
    objects: Objects, onto: Oid, commits: Sequence[Commit], policy: Policy, beside: Sequence[Commit]
) -> ReplayResult:
    """Put messages on top of `onto`, one after the other; one that stands there already keeps its commit.

    `beside` are the commits of the new place that the old one has not, oldest first; they tell who said what there.
    Nothing but objects is written.
    """
    place = _Place(onto, beside)
    moved: list[Rewrite] = []
    settled: list[Conflict] = []
    notes: dict[Note, None] = {}
    for number, commit in enumerate(commits, 1):
        oid, plan = (commit.oid, None) if commit.parents == (place.tip,) else _replay(objects, place, commit, policy)
        if plan is not None:
            settled += (conflict for conflict in plan.conflicts if conflict.resolution is not None)
            notes |= dict.fromkeys(plan.notes)
            if plan.open_conflicts:
                return ReplayResult(
                    tip=place.tip,
                    moved=tuple(moved),
                    stop=Stop(message_id_of(commit), commit.oid, oid, place.tip),
                    conflicts=(*plan.open_conflicts, *settled),
                    todo=tuple(later.oid for later in commits[number:]),
                    notes=tuple(notes),
                )
        moved.append(Rewrite(message_id_of(commit), commit.oid, oid))
        place.advance(objects, oid)
    return ReplayResult(tip=place.tip, moved=tuple(moved), conflicts=tuple(settled), notes=tuple(notes))


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
    changed = changes_by_key(objects, base, state)
    target = Side(onto, there, tuple(beside), changes_on(objects, base, there, changed))
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RebasePlan:
    """A rebase that is worked out and not yet done; `dropped` merges and `present` messages are left out."""

    line: ReplayResult
    dropped: tuple[Oid, ...]
    present: tuple[Rewrite, ...]

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a person should know of it."""
        found = list(self.line.notes)
        if self.dropped:
            found.append(Note(f"left out {_counted(self.dropped, 'merge')}: both sides stand in one line now"))
        if self.present:
            found.append(Note(f"left out {_counted(self.present, 'message')} that the new base has already"))
        return tuple(found)


def plan_rebase(  # noqa: PLR0917 - where to read and write, then what moves where
    repository: Repository, objects: Objects, tip: Oid, fork: Oid | None, onto: Oid, policy: Policy
) -> RebasePlan:
    """Work a rebase out: what is reachable from `tip` and neither from `fork` nor from `onto` is put on top of `onto`.

    Only objects are written, to `objects`; no ref moves.

    Raises:
        Refused: a merge that cannot be replayed, or histories that have nothing in common.
    """
    bases = list_merge_bases(repository, tip, onto)
    own = _without_history(list_new_commits(repository, tip, onto, bases), fork)
    beside = list_new_commits(repository, onto, tip, bases)
    return plan_line(repository, objects, onto, own, beside, policy)


def plan_line(  # noqa: PLR0917
    repository: Repository,
    objects: Objects,
    onto: Oid,
    own: Iterable[Commit],
    beside: Sequence[Commit],
    policy: Policy,
) -> RebasePlan:
    """Work out how commits come to stand in one line on top of `onto`, which has `beside` that they have not.

    Raises:
        Refused: one of them is a merge that cannot be replayed, or the beginning of a conversation.
    """
    there = {message_id_of(commit): commit for commit in beside}
    chosen, dropped, present = [], [], []
    for commit in own:
        known = there.get(message_id_of(commit))
        if len(commit.parents) != 1:
            _refuse_needed(repository, objects, commit)
            dropped.append(commit.oid)
        elif known is not None and _body(objects, known) == _body(objects, commit):
            present.append(Rewrite(message_id_of(commit), commit.oid, known.oid))
        else:
            chosen.append(commit)
    line = replay_commits(objects, onto, chosen, policy, beside)
    return RebasePlan(line=line, dropped=tuple(dropped), present=tuple(present))


def _without_history(commits: Iterable[Commit], fork: Oid | None) -> list[Commit]:
    """Leave out what the place has where the branch began: it is not the branch's own."""
    own = {commit.oid: commit for commit in commits}
    below = [fork]
    while below:
        commit = own.pop(oid, None) if (oid := below.pop()) is not None else None
        below += () if commit is None else commit.parents
    return list(own.values())


def _body(objects: Objects, commit: Commit) -> Oid | None:
    entry = read_tree(objects, commit.tree).get(MESSAGE_FILE)
    return None if entry is None else entry.oid


def _refuse_needed(repository: Repository, objects: Objects, commit: Commit) -> None:
    """Refuse a merge that says something of its own, which one line of messages could not."""
    if not commit.parents:
        raise Refused("the two histories have nothing in common", hint="pick single messages: scopes conv cherry-pick")
    plain = commit.trailers.get(KIND_TRAILER) == "merge" and len(commit.parents) == 2
    divergence = find_divergence(repository, objects, *commit.parents) if plain else None
    if divergence is None or find_disagreements(objects, divergence):
        raise Refused(
            f"the merge {message_id_of(commit)[:8]} cannot be replayed: it settled what its sides disagreed on",
            hint="merge instead: scopes conv merge CONV --source BRANCH --target BRANCH",
        )


def _counted(things: Sequence[object], one: str) -> str:
    return f"{len(things)} {one}" if len(things) == 1 else f"{len(things)} {one}s"
