"""Plan a rebase or a cherry-pick: which messages to replay, which to leave out, and where the replay stops.

Only objects are written; no ref moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from scopes.errors import Refused
from scopes.history.messages import MESSAGE_FILE, message_id_of, read_body
from scopes.ids import MessageId, Oid
from scopes.merge.detection import find_disagreements
from scopes.merge.divergence import find_divergence
from scopes.merge.rewrite import OwnMessages, ReplayResult, ReplayRules, ReplayTarget, Rewrite, rewrite_commits
from scopes.model.conflicts import Conflict
from scopes.model.tombstone import is_purged_copy
from scopes.result import Note, plural
from scopes.store.graph import list_merge_bases, list_new_commits
from scopes.store.objects import Commit
from scopes.store.repository import Objects, Repository, read_commit, read_tree


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """A planned replay; `dropped` merges and `present` messages, which the new base has already, are left out.

    `inherited` is the number of messages below the fork point of a rebased branch that the new base does not have.
    """

    result: ReplayResult
    inherited: int = 0
    dropped: tuple[Oid, ...] = ()
    present: tuple[Rewrite, ...] = ()
    notes: tuple[Note, ...] = ()


def plan_rebase(  # noqa: PLR0917 - where to read and write, then what moves where
    repository: Repository, objects: Objects, tip: Oid, fork: Oid | None, onto: Oid, rules: ReplayRules
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
    return replace(plan_line(repository, objects, onto, commits, new_in_target, rules), inherited=inherited)


def plan_line(  # noqa: PLR0917 - where to read and write, then what moves where
    repository: Repository,
    objects: Objects,
    onto: Oid,
    commits: Iterable[Commit],
    new_in_target: Sequence[Commit],
    rules: ReplayRules,
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
    own = OwnMessages(frozenset(map(message_id_of, commits)), written)
    result = rewrite_commits(objects, ReplayTarget(onto, new_in_target, own), chosen, rules)
    notes = list(result.notes)
    if dropped:
        notes.append(Note(f"skipped {len(dropped)} {plural(len(dropped), 'merge')}: the replayed history is linear"))
    if present:
        notes.append(Note(f"skipped {len(present)} {plural(len(present), 'message')} that the new base already has"))
    return ReplayPlan(result=result, dropped=tuple(dropped), present=tuple(present), notes=tuple(notes))


def _is_present(objects: Objects, same: Commit, commit: Commit) -> bool:
    """Return True if a new base has a message as it is, or what a purge has left of it."""
    if _message_blob(objects, same) == _message_blob(objects, commit):
        return True
    return is_purged_copy(read_body(objects, same), read_body(objects, commit))


def plan_picks(  # noqa: PLR0917 - where to read and write, then what moves where
    repository: Repository,
    objects: Objects,
    onto: Oid,
    commits: Sequence[Commit],
    rules: ReplayRules,
    written: frozenset[MessageId] = frozenset(),
) -> ReplayPlan:
    """Plan to replay single commits, each with its own merge base, one after the other on top of `onto`.

    `written` are the messages that the same cherry-pick has written before it stopped.
    """
    lines = _lines_of(repository, onto, commits)
    line: _Line | None = None
    target = ReplayTarget(onto, ())
    tip, moved, resolved, notes = onto, list[Rewrite](), list[tuple[Conflict, ...]](), dict[Note, None]()
    stopped, todo = ReplayResult(tip=onto, moved=()), tuple[Oid, ...]()
    known_notices, all_written = set[MessageId](), set(written)
    for number, commit in enumerate(commits, 1):
        if line is not lines[commit.oid]:
            line = lines[commit.oid]
            target = ReplayTarget(tip, (*line.new_in_target, *(read_commit(objects, each.new) for each in moved)))
            known_notices = _notices_of(target.new_commits)
        own = line.messages_up_to(commit)
        target.begin(OwnMessages(own, all_written & target.known & (own | known_notices)))
        one = rewrite_commits(objects, target, [commit], rules)
        tip = one.tip
        replayed = {rewrite.id for rewrite in one.moved}
        all_written |= replayed
        target.known |= replayed
        known_notices |= _notices_of(target.new_commits[-len(replayed) :] if replayed else ())
        moved += one.moved
        resolved.append(one.conflicts)
        notes |= dict.fromkeys(one.notes)
        if one.stop is not None:
            stopped, todo = one, tuple(later.oid for later in commits[number:])
            break
    result = ReplayResult(
        tip=tip,
        moved=tuple(moved),
        stop=stopped.stop,
        conflicts=tuple(conflict for conflicts in reversed(resolved) for conflict in conflicts),
        todo=todo,
        notes=tuple(notes),
    )
    return ReplayPlan(result=result, notes=result.notes)


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


def _message_blob(objects: Objects, commit: Commit) -> Oid | None:
    entry = read_tree(objects, commit.tree).get(MESSAGE_FILE)
    return None if entry is None else entry.oid


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
