"""Replay messages on top of another commit: what rebase and cherry-pick share.

A replayed message keeps its bytes, its id and its time; its commit gets a new parent, and a new state into which its
change is merged. A replay is planned first, which writes objects only; then the branch moves, or a conflict-resolution
branch holds the message with conflicts until `--continue` or `--skip` replays the rest.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from scopes.errors import Refused
from scopes.history.messages import MESSAGE_FILE, STATE_DIRECTORY, message_id_of, read_body
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.merge.compare import (
    Divergence,
    Side,
    changes_by_key,
    changes_on,
    find_disagreements,
    find_divergence,
    state_of,
)
from scopes.merge.in_progress import InProgress
from scopes.merge.keys import can_state, find_restated, key_of_path, stated_topics
from scopes.merge.plan import MergePlan, plan_of, write_state
from scopes.merge.resolve import Policy
from scopes.model.conflicts import Conflict
from scopes.model.message import Message, claims_of, is_purged_copy
from scopes.result import Note, plural
from scopes.store.graph import list_merge_bases, list_new_commits, walk_newest_first
from scopes.store.objects import (
    COMMIT,
    EMPTY_TREE,
    TREE,
    BlobChange,
    Commit,
    Objects,
    TreeEntry,
    find_blob,
    format_commit,
    format_tree,
    read_commit,
    read_tree,
    update_tree,
)
from scopes.store.repository import Repository


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """Messages replayed to the end, or to the first one with open conflicts; their objects are written.

    Attributes:
        tip: The last replayed commit, or the commit to replay on.
        conflicts: The open conflicts, then the automatically resolved ones.
        todo: The old commits after the stop.
        inherited: The number of messages below the fork point of a rebased branch that the new base does not have.
        dropped: The merges that are left out.
        present: The messages that are left out because the new base has them already.
    """

    tip: Oid
    moved: tuple[Rewrite, ...] = ()
    stop: Stop | None = None
    conflicts: tuple[Conflict, ...] = ()
    todo: tuple[Oid, ...] = ()
    notes: tuple[Note, ...] = ()
    inherited: int = 0
    dropped: tuple[Oid, ...] = ()
    present: tuple[Rewrite, ...] = ()


def rewrite_commits(objects: Objects, target: ReplayTarget, commits: Sequence[Commit], policy: Policy) -> ReplayPlan:
    """Replay commits one after the other on top of the target; a commit whose parent is the tip already is kept.

    Only objects are written. The last replayed commit becomes the tip of the target.
    """
    moved: list[Rewrite] = []
    resolved: list[Conflict] = []
    notes: dict[Note, None] = {}
    for number, commit in enumerate(commits, 1):
        oid, plan = (commit.oid, None) if commit.parents == (target.tip,) else _replay(objects, target, commit, policy)
        if plan is not None:
            resolved += (conflict for conflict in plan.conflicts if conflict.resolution is not None)
            notes |= dict.fromkeys(plan.notes)
            if plan.open_conflicts:
                return ReplayPlan(
                    tip=target.tip,
                    moved=tuple(moved),
                    stop=Stop(message_id_of(commit), commit.oid, oid, target.tip),
                    conflicts=(*plan.open_conflicts, *resolved),
                    todo=tuple(later.oid for later in commits[number:]),
                    notes=tuple(notes),
                )
        moved.append(Rewrite(message_id_of(commit), commit.oid, oid))
        target.advance(objects, oid, () if plan is None else plan.conflicts)
    return ReplayPlan(tip=target.tip, moved=tuple(moved), conflicts=tuple(resolved), notes=tuple(notes))


class ReplayTarget:
    """The commit that the next message is replayed on, and the commits below it that the message does not have.

    `new_commits` are oldest first; they name the authors of conflicting claims. What others state in them counts until
    a conflict about it is resolved; the `replayed` messages do not count, nor those that the same replay has `written`
    on the new base already, which are the resolutions of its conflicts too.
    """

    def __init__(
        self,
        tip: Oid,
        new_commits: Iterable[Commit],
        replayed: Container[MessageId] = frozenset(),
        written: Container[MessageId] = frozenset(),
    ) -> None:
        self.tip = tip
        self.new_commits = list(new_commits)
        self.known = {message_id_of(commit) for commit in self.new_commits}
        self._topics: dict[Oid, set[str]] = {}
        self.begin(replayed, written)

    def begin(self, replayed: Container[MessageId], written: Container[MessageId]) -> None:
        """Begin another replay on the tip: what was replayed before is an ordinary part of the target."""
        self._replayed, self._written = replayed, written
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
            is_written = message in self._written
            is_resolution = is_written and commit.kind == "notice"
            topics = self._read_topics(objects, commit)
            for topic in topics | retracted.get(commit.oid, set()):
                if is_resolution or (message in self._replayed and not is_written):
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


def _replay(objects: Objects, target: ReplayTarget, commit: Commit, policy: Policy) -> tuple[Oid, MergePlan]:
    """Write one message on top of the target; keys with open conflicts keep the value of the target."""
    message = read_body(objects, commit)
    # Reading the new commits is slow: do it only if they can conflict by message, or to name the authors of conflicts.
    concerns_others = message.retracts is not None or message.id in target.known
    stating, resolved = target.find_stating(objects, commit), target.still_resolved

    def plan_with(new_commits: Sequence[Commit]) -> MergePlan:
        divergence = divergence_of(objects, target.tip, commit, new_commits, stating, still_resolved=resolved)
        return plan_of(objects, divergence, policy)

    plan = plan_with(target.new_commits if concerns_others else ())
    if plan.conflicts and not concerns_others:
        plan = plan_with(target.new_commits)
    state = _add_missing_claims(objects, write_state(objects, plan), message, plan, target.resolved)
    return _rewrite(objects, target.tip, commit, state), plan


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
        absent = {key for key, paths in in_target.items() if paths and all(each.new is None for each in paths.values())}
        again = {key: paths for key, paths in again.items() if key not in absent}
    target = Side(onto, target_state, tuple(new_in_target), in_target, restated)
    source = Side(commit.oid, source_state, (commit,), changes, again)
    return Divergence(target, source, () if parent is None else (parent,), base_state)


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
        for path, claim in claims_of(message, lambda path: find_blob(objects, before, path))
        if find_blob(objects, state, path) is None
        and find_blob(objects, after, path) == claim
        and key_of_path(path) not in conflicting
    }
    return update_tree(objects, state, missing) if missing else state


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


def plan_rebase(  # noqa: PLR0917 - where to read and write, then what moves where
    repository: Repository, objects: Objects, tip: Oid, fork: Oid | None, onto: Oid, policy: Policy
) -> ReplayPlan:
    """Plan to replay the commits reachable from `tip`, but neither from `fork` nor from `onto`, on top of `onto`.

    Raises:
        Refused: a merge cannot be replayed, or the histories have nothing in common.
    """
    bases = list_merge_bases(repository, tip, onto)
    line = list_new_commits(repository, tip, onto, bases)
    commits = _drop_history(line, fork)
    new_in_target = list_new_commits(repository, onto, tip, bases)
    known = {message_id_of(commit) for commit in (*new_in_target, *commits)}
    inherited = sum(message_id_of(commit) not in known for commit in line)
    return replace(plan_line(repository, objects, onto, commits, new_in_target, policy), inherited=inherited)


def plan_line(  # noqa: PLR0917 - where to read and write, then what moves where
    repository: Repository,
    objects: Objects,
    onto: Oid,
    commits: Iterable[Commit],
    new_in_target: Sequence[Commit],
    policy: Policy,
    written: frozenset[MessageId] = frozenset(),
) -> ReplayPlan:
    """Plan to replay commits in one line on top of `onto`, leaving out merges and messages of `new_in_target`.

    `new_in_target` are the commits of `onto` that the replayed ones do not have; `written` are those among them that
    the same replay has written.

    Raises:
        Refused: a merge cannot be replayed, or one of the commits is the root of a conversation.
    """
    known = {message_id_of(commit): commit for commit in new_in_target}
    chosen, dropped, present = [], [], []
    commits = list(commits)
    for commit in commits:
        same = known.get(message_id_of(commit))
        if len(commit.parents) != 1:
            _require_droppable(repository, objects, commit)
            dropped.append(commit.oid)
        elif same is not None and _is_present(objects, same, commit):
            present.append(Rewrite(message_id_of(commit), commit.oid, same.oid))
        else:
            chosen.append(commit)
    target = ReplayTarget(onto, new_in_target, set(map(message_id_of, commits)), written)
    plan = rewrite_commits(objects, target, chosen, policy)
    notes = list(plan.notes)
    if dropped:
        notes.append(Note(f"skipped {len(dropped)} {plural(len(dropped), 'merge')}: the replayed history is linear"))
    if present:
        notes.append(Note(f"skipped {len(present)} {plural(len(present), 'message')} that the new base already has"))
    return replace(plan, dropped=tuple(dropped), present=tuple(present), notes=tuple(notes))


def _is_present(objects: Objects, same: Commit, commit: Commit) -> bool:
    """Return True if a new base has a message as it is, or what a purge has left of it."""
    entries = [read_tree(objects, each.tree).get(MESSAGE_FILE) for each in (same, commit)]
    return entries[0] == entries[1] or is_purged_copy(read_body(objects, same), read_body(objects, commit))


def plan_picks(  # noqa: PLR0917 - where to read and write, then what moves where
    repository: Repository,
    objects: Objects,
    onto: Oid,
    commits: Sequence[Commit],
    policy: Policy,
    written: frozenset[MessageId] = frozenset(),
) -> ReplayPlan:
    """Plan to replay single commits, each with its own merge base, one after the other on top of `onto`.

    `written` are the messages that the same cherry-pick has written before it stopped.
    """
    lines = _lines_of(repository, onto, commits)
    line: _Line | None = None
    target = ReplayTarget(onto, ())
    tip, moved, resolved, notes = onto, list[Rewrite](), list[tuple[Conflict, ...]](), dict[Note, None]()
    stop, todo = None, tuple[Oid, ...]()
    known_notices, all_written = set[MessageId](), set(written)
    for number, commit in enumerate(commits, 1):
        if line is not lines[commit.oid]:
            line = lines[commit.oid]
            target = ReplayTarget(tip, (*line.new_in_target, *(read_commit(objects, each.new) for each in moved)))
            known_notices = _notices_of(target.new_commits)
        own = line.messages_up_to(commit)
        target.begin(own, all_written & target.known & (own | known_notices))
        one = rewrite_commits(objects, target, [commit], policy)
        tip = one.tip
        replayed = {rewrite.id for rewrite in one.moved}
        all_written |= replayed
        target.known |= replayed
        known_notices |= _notices_of(target.new_commits[-len(replayed) :] if replayed else ())
        moved += one.moved
        resolved.append(one.conflicts)
        notes |= dict.fromkeys(one.notes)
        if one.stop is not None:
            stop, todo = one.stop, tuple(later.oid for later in commits[number:])
            break
    return ReplayPlan(
        tip=tip,
        moved=tuple(moved),
        stop=stop,
        conflicts=tuple(conflict for conflicts in reversed(resolved) for conflict in conflicts),
        todo=todo,
        notes=tuple(notes),
    )


class _Line(NamedTuple):
    """The commits up to a picked one that the target does not have, oldest first, and what the target has beside them.

    `places` are the places of the commits; a history with merges has only that of its last one.
    """

    commits: Sequence[Commit]
    new_in_target: Sequence[Commit]
    places: Mapping[Oid, int]

    def messages_up_to(self, commit: Commit) -> set[MessageId]:
        """Return the messages of the commits up to one of them."""
        return {message_id_of(each) for each in self.commits[: self.places.get(commit.oid, len(self.commits)) + 1]}


def _lines_of(repository: Repository, onto: Oid, commits: Sequence[Commit]) -> dict[Oid, _Line]:
    """Return the line of each picked commit; those of one linear history have it in common."""
    found: dict[Oid, _Line] = {}
    for commit in reversed(commits):  # the last one is usually above the others
        line = next((each for each in found.values() if commit.oid in each.places), None)
        if line is None:
            bases = list_merge_bases(repository, onto, commit.oid)
            own = list_new_commits(repository, commit.oid, onto, bases)
            is_linear = all(len(each.parents) == 1 for each in own)
            places = {each.oid: place for place, each in enumerate(own)} if is_linear else {commit.oid: len(own) - 1}
            line = _Line(own, list_new_commits(repository, onto, commit.oid, bases), places)
        found[commit.oid] = line
    return found


def _notices_of(commits: Iterable[Commit]) -> set[MessageId]:
    return {message_id_of(commit) for commit in commits if commit.kind == "notice"}


def _drop_history(commits: Iterable[Commit], fork: Oid | None) -> list[Commit]:
    """Leave out the fork point of the branch and what is reachable from it."""
    own = {commit.oid: commit for commit in commits}
    below = [fork]
    while below:
        commit = own.pop(oid, None) if (oid := below.pop()) is not None else None
        below += () if commit is None else commit.parents
    return list(own.values())


def _require_droppable(repository: Repository, objects: Objects, commit: Commit) -> None:
    """Refuse roots, and merges that did more than join two sides without conflicts."""
    if not commit.parents:
        raise Refused("the two histories have nothing in common", hint="pick single messages with cherry-pick")
    plain = commit.kind == "merge" and len(commit.parents) == 2
    divergence = find_divergence(repository, objects, *commit.parents) if plain else None
    if divergence is None or find_disagreements(objects, divergence):
        raise Refused(
            f"the merge {message_id_of(commit)[:8]} cannot be replayed: it resolved conflicts",
            hint="merge the branch instead: scopes merge",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayState:
    """A rebase or cherry-pick, as far as it has come.

    Attributes:
        branch: The branch that will move; `original` is its tip.
        source, target: The names under which conflicts show the two sides.
        onto: The new base; `parent` is the branch that it is on, if it was named by one.
        moved: The messages that have been replayed.
        todo: The commits to replay after the one that it stopped at.
        in_progress: The conflict resolution; None before it stops for the first time.
    """

    kind: str
    conversation: ConversationId
    branch: BranchName
    original: Oid
    source: str
    target: str
    onto: Oid
    parent: BranchName | None = None
    moved: tuple[Rewrite, ...] = ()
    todo: tuple[Oid, ...] = ()
    in_progress: InProgress | None = None


def list_written(repository: Repository, state: ReplayState, tip: Oid) -> frozenset[MessageId]:
    """Return the messages on `tip` that a replay has written: the replayed ones and the resolutions of conflicts."""
    commits = list_new_commits(repository, tip, state.onto)
    resolutions = {message_id_of(each) for each in commits if each.kind == "notice"}
    return frozenset(resolutions | {each.id for each in state.moved})


def read_replay(in_progress: InProgress) -> ReplayState:
    """Return the state of a rebase or cherry-pick in progress, from its record."""
    details = in_progress.details
    return ReplayState(
        kind=in_progress.kind,
        conversation=in_progress.conversation,
        branch=BranchName(details["branch"]),
        original=Oid(details["original"]),
        source=in_progress.source,
        target=in_progress.target,
        onto=Oid(details["onto"]),
        parent=details.get("parent"),
        moved=tuple(Rewrite(*each) for each in details["moved"]),
        todo=tuple(details["todo"]),
        in_progress=in_progress,
    )


def replay_details(state: ReplayState, todo: Iterable[Oid]) -> dict[str, Any]:
    """Return what the record of a replay in progress keeps, for `read_replay`."""
    details: dict[str, Any] = {
        "branch": state.branch,
        "original": state.original,
        "onto": state.onto,
        "moved": [list(rewrite) for rewrite in state.moved],
        "todo": list(todo),
    }
    return details if state.parent is None else {**details, "parent": state.parent}
