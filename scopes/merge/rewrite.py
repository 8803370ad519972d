"""Rewrite commits on top of another commit: the step of a rebase or cherry-pick that writes the new commits.

A replayed message keeps its bytes, its id and its time; its commit gets a new parent, and a new state into which its
change is merged. No ref moves here.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from scopes.history.messages import STATE_DIRECTORY, message_id_of, read_body
from scopes.ids import MessageId, Oid
from scopes.merge.compare import Divergence, PathChanges, Side, changes_by_key, changes_on, state_of
from scopes.merge.keys import can_state, find_restated, key_of_path, stated_topics
from scopes.merge.plan import MergePlan, plan_of, write_state
from scopes.merge.resolve import EarlierResolutions, Policy
from scopes.model.conflicts import Conflict
from scopes.model.message import Message, claims_of
from scopes.result import Note
from scopes.store.graph import walk_newest_first
from scopes.store.objects import COMMIT, EMPTY_TREE, TREE, Commit, TreeEntry, format_commit, format_tree
from scopes.store.repository import Objects, read_commit, read_tree
from scopes.store.trees import BlobChange, find_blob, update_tree


class Rewrite(NamedTuple):
    """A message with its old and its new commit."""

    id: MessageId
    old: Oid
    new: Oid


class Stop(NamedTuple):
    """A message with open conflicts: its old commit, its new one, and the parent of the new one."""

    id: MessageId
    old: Oid
    new: Oid
    parent: Oid


class ReplayRules(NamedTuple):
    """How the conflicts of a replay are found and resolved.

    `earlier` finds how a conflict was resolved before.
    """

    policy: Policy
    earlier: EarlierResolutions | None = None


class OwnMessages(NamedTuple):
    """Messages of the replayed history: what they state is not stated against it.

    `replayed` are those that are replayed; `written` those that the same replay has written on the new base already,
    and the resolutions of their conflicts.
    """

    replayed: Container[MessageId] = frozenset()
    written: Container[MessageId] = frozenset()


NO_MESSAGES: Final = OwnMessages()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """Messages replayed to the end, or to the first one with open conflicts.

    Attributes:
        tip: The last replayed commit, or the commit to replay on.
        conflicts: The open conflicts, then the automatically resolved ones.
        todo: The old commits after the stop.
    """

    tip: Oid
    moved: tuple[Rewrite, ...]
    stop: Stop | None = None
    conflicts: tuple[Conflict, ...] = ()
    todo: tuple[Oid, ...] = ()
    notes: tuple[Note, ...] = ()


def rewrite_commits(
    objects: Objects, target: ReplayTarget, commits: Sequence[Commit], rules: ReplayRules
) -> ReplayResult:
    """Replay commits one after the other on top of the target; a commit whose parent is the tip already is kept.

    Only objects are written. The last replayed commit becomes the tip of the target.
    """
    moved: list[Rewrite] = []
    resolved: list[Conflict] = []
    notes: dict[Note, None] = {}
    for number, commit in enumerate(commits, 1):
        oid, plan = (commit.oid, None) if commit.parents == (target.tip,) else _replay(objects, target, commit, rules)
        if plan is not None:
            resolved += (conflict for conflict in plan.conflicts if conflict.resolution is not None)
            notes |= dict.fromkeys(plan.notes)
            if plan.open_conflicts:
                return ReplayResult(
                    tip=target.tip,
                    moved=tuple(moved),
                    stop=Stop(message_id_of(commit), commit.oid, oid, target.tip),
                    conflicts=(*plan.open_conflicts, *resolved),
                    todo=tuple(later.oid for later in commits[number:]),
                    notes=tuple(notes),
                )
        moved.append(Rewrite(message_id_of(commit), commit.oid, oid))
        target.advance(objects, oid, () if plan is None else plan.conflicts)
    return ReplayResult(tip=target.tip, moved=tuple(moved), conflicts=tuple(resolved), notes=tuple(notes))


class ReplayTarget:
    """The commit that the next message is replayed on, and the commits below it that the message does not have.

    `new_commits` are oldest first; they name the authors of conflicting claims. What others than `own` stated counts
    until a conflict about it is resolved.
    """

    def __init__(self, tip: Oid, new_commits: Iterable[Commit], own: OwnMessages = NO_MESSAGES) -> None:
        self.tip = tip
        self.new_commits = list(new_commits)
        self.known = {message_id_of(commit) for commit in self.new_commits}
        self._topics: dict[Oid, set[str]] = {}
        self.begin(own)

    def begin(self, own: OwnMessages) -> None:
        """Begin another replay on the tip: what was replayed before is an ordinary part of the target."""
        self._own = own
        self._stating: dict[str, list[Commit]] | None = None
        self._resolved: set[str] = set()
        self._resolved_before: set[str] = set()  # by notices that the same replay wrote before it stopped

    def advance(self, objects: Objects, tip: Oid, resolved: Iterable[Conflict]) -> None:
        """Continue on a replayed commit, whose replay resolved these conflicts."""
        self.tip = tip
        self.new_commits.append(read_commit(objects, tip))
        self._resolved |= {conflict.key for conflict in resolved}

    def find_stating(self, objects: Objects, commit: Commit) -> list[Commit]:
        """Return the new commits, oldest first, that stated a topic of a commit after all messages of its own line."""
        if not can_state(commit):
            return []
        if self._stating is None:
            self._stating = self._find_all_stating(objects)
        topics = stated_topics(objects, commit) - self._resolved
        found = [each for topic in topics for each in self._stating.get(topic, ())]
        return list({each.oid: each for each in found}.values())

    @property
    def still_resolved(self) -> set[str]:
        """The keys whose conflicts this replay has resolved, and that nobody has stated since."""
        stated = set() if self._stating is None else self._stating.keys()
        return self._resolved | (self._resolved_before - stated)

    @property
    def resolved(self) -> set[str]:
        """The keys whose conflicts this replay has resolved."""
        return self._resolved | self._resolved_before

    def _find_all_stating(self, objects: Objects) -> dict[str, list[Commit]]:
        by_topic: dict[str, list[Commit]] = {}
        retracted = self._find_retracted_topics(objects)
        for commit in self.new_commits:
            message = message_id_of(commit)
            is_written = message in self._own.written
            is_resolution = is_written and commit.kind == "notice"
            topics = self._read_topics(objects, commit)
            for topic in topics | retracted.get(commit.oid, set()):
                if is_resolution or (message in self._own.replayed and not is_written):
                    by_topic.pop(topic, None)
                    self._resolved_before |= {topic} if is_resolution else set()
                elif not is_written:
                    by_topic.setdefault(topic, []).append(commit)
        return by_topic

    def _read_topics(self, objects: Objects, commit: Commit) -> set[str]:
        """Return the keys that a commit states; it is read once."""
        if not can_state(commit):
            return set()
        if commit.oid not in self._topics:
            self._topics[commit.oid] = stated_topics(objects, commit)
        return self._topics[commit.oid]

    def _find_retracted_topics(self, objects: Objects) -> dict[Oid, set[str]]:
        """Return the keys that a retracted message had stated, by the commit that retracts it."""
        notices = [each for each in self.new_commits if each.kind == "notice"]
        retracting = {each.oid: read_body(objects, each).retracts for each in notices}
        missing = {message for message in retracting.values() if message is not None}
        topics: dict[str, set[str]] = {}
        for commit in walk_newest_first(objects, [self.tip]) if missing else ():
            if (message := message_id_of(commit)) in missing:
                missing.discard(message)
                topics[message] = self._read_topics(objects, commit)
            if not missing:
                break
        return {oid: topics[message] for oid, message in retracting.items() if message in topics}


def _replay(objects: Objects, target: ReplayTarget, commit: Commit, rules: ReplayRules) -> tuple[Oid, MergePlan]:
    """Write one message on top of the target; keys with open conflicts keep the value of the target."""
    message = read_body(objects, commit)
    # Reading the new commits is slow: do it only if they can conflict by message, or to name the authors of conflicts.
    concerns_others = message.retracts is not None or message.id in target.known
    plan = _plan(objects, target, commit, rules, with_commits=concerns_others)
    if plan.conflicts and not concerns_others:
        plan = _plan(objects, target, commit, rules, with_commits=True)
    state = _add_missing_claims(objects, write_state(objects, plan), message, plan, target.resolved)
    return _rewrite(objects, target.tip, commit, state), plan


def _plan(
    objects: Objects, target: ReplayTarget, commit: Commit, rules: ReplayRules, *, with_commits: bool
) -> MergePlan:
    new_commits = target.new_commits if with_commits else ()
    stating = target.find_stating(objects, commit)
    divergence = divergence_of(
        objects,
        target.tip,
        commit,
        new_commits,
        stating,
        still_resolved=target.still_resolved,
    )
    return plan_of(objects, divergence, rules.policy, rules.earlier)


def divergence_of(
    objects: Objects,
    onto: Oid,
    commit: Commit,
    new_in_target: Sequence[Commit] = (),
    stating: Sequence[Commit] = (),
    *,
    still_resolved: Container[str] = frozenset(),
) -> Divergence:
    """Compare the changes of one commit with those of `onto`, over the parent of the commit.

    Of `onto` only the keys that the commit changed or stated again are compared, so that long branches replay in linear
    time; `stating` are the commits of `onto` that can have stated a claim again. A claim that the commit only
    states again does not count if its key is in `still_resolved`: its conflict was resolved at an earlier commit.
    """
    parent = commit.parents[0] if commit.parents else None
    base_state = None if parent is None else state_of(objects, parent)
    source_state, target_state = state_of(objects, commit.oid), state_of(objects, onto)
    changes = changes_by_key(objects, base_state, source_state)
    again = find_restated(objects, (commit,), base_state, source_state, frozenset()) if can_state(commit) else {}
    again = {key: paths for key, paths in again.items() if key not in still_resolved}
    keys = {**changes, **again}
    known = frozenset({message_id_of(commit)})
    restated = find_restated(objects, stating, base_state, target_state, known)
    restated = {key: paths for key, paths in restated.items() if key in changes}
    in_target = changes_on(objects, base_state, target_state, keys)
    if not stating:  # a claim that the target never had is no decision against it
        again = {key: paths for key, paths in again.items() if not _is_absent(in_target.get(key, {}))}
    target = Side(onto, target_state, tuple(new_in_target), in_target, restated)
    source = Side(commit.oid, source_state, (commit,), changes, again)
    return Divergence(target, source, () if parent is None else (parent,), base_state)


def _is_absent(changes: PathChanges) -> bool:
    return bool(changes) and all(change.new is None for change in changes.values())


def _add_missing_claims(
    objects: Objects, state: Oid | None, message: Message, plan: MergePlan, resolved: set[str]
) -> Oid | None:
    """Add the claims of the message that the state has no value for, unless their conflict was resolved so.

    Such a claim is no change of the commit if the state before it already had the same value.
    """
    conflicting = resolved | {conflict.key for conflict in plan.conflicts}
    before, after = plan.divergence.base_state, plan.divergence.source.state
    missing: dict[str, BlobChange] = {
        path: claim
        for path, claim in claims_of(message, lambda path: _blob(objects, before, path))
        if _blob(objects, state, path) is None
        and _blob(objects, after, path) == claim
        and key_of_path(path) not in conflicting
    }
    return update_tree(objects, state, missing) if missing else state


def _blob(objects: Objects, state: Oid | None, path: str) -> bytes | None:
    return None if state is None else find_blob(objects, state, path)


def _rewrite(objects: Objects, parent: Oid, commit: Commit, state: Oid | None) -> Oid:
    """Write a commit with another parent and another state; the other entries of its tree are kept."""
    entries = {name: entry for name, entry in read_tree(objects, commit.tree).items() if name != STATE_DIRECTORY}
    if state is not None and state != EMPTY_TREE:
        entries[STATE_DIRECTORY] = TreeEntry(STATE_DIRECTORY, state, is_tree=True)
    data = format_commit(
        tree=objects.write(TREE, format_tree(entries.values())),
        parents=(parent,),
        author=commit.author,
        time=commit.time,
        subject=commit.subject,
        trailers=commit.trailers.items(),
    )
    return objects.write(COMMIT, data)
