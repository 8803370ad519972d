"""Plan a rebase or a cherry-pick: which messages to replay, which to leave out, and where the replay stops.

Only objects are written; no ref moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

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

_MAX_BETWEEN = 1000  # commits between two picked ones of a line


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
            _require_droppable(repository, objects, commit, rules.directory)
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
    picks = _Picks(repository, onto, written)
    tip, moved, resolved, notes = onto, list[Rewrite](), list[tuple[Conflict, ...]](), dict[Note, None]()
    stopped, todo = ReplayResult(tip=onto, moved=()), tuple[Oid, ...]()
    for number, commit in enumerate(commits, 1):
        target = picks.begin(objects, commit, tip, moved)
        one = rewrite_commits(objects, target, [commit], rules)
        tip = one.tip
        picks.end(one.moved)
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


class _Picks:
    """Finds what each picked commit and the target do not have of each other.

    Commits are usually picked from one line. They have the merge bases in common, so only the first one is compared
    with the target.
    """

    def __init__(self, repository: Repository, onto: Oid, written: frozenset[MessageId]) -> None:
        self._repository = repository
        self._onto = onto
        self._written = set(written)
        self._line = _Line((), ())
        self._target: ReplayTarget | None = None
        self._notices: set[MessageId] = set()

    def begin(self, objects: Objects, commit: Commit, tip: Oid, moved: Iterable[Rewrite]) -> ReplayTarget:
        """Return the target to replay a commit on; `moved` are the commits that were replayed before, up to `tip`."""
        target = self._target
        if target is None or not self._line.reach(self._repository, commit):
            bases = list_merge_bases(self._repository, self._onto, commit.oid)
            new_in_target = list_new_commits(self._repository, self._onto, commit.oid, bases)
            self._line = _Line(bases, list_new_commits(self._repository, commit.oid, self._onto, bases))
            replayed = (read_commit(objects, rewrite.new) for rewrite in moved)
            self._target = target = ReplayTarget(tip, (*new_in_target, *replayed))
            self._notices = {message_id_of(each) for each in target.new_commits if _is_notice(each)}
        line = _Above(self._line.places, self._line.place_of(commit))
        target.begin(OwnMessages(line, _Written(self._written, target.known, line, self._notices)))
        return target

    def end(self, moved: Iterable[Rewrite]) -> None:
        """Note what was replayed, and is at the end of the commits of the target now."""
        target = self._target
        replayed = {rewrite.id for rewrite in moved}
        self._written |= replayed
        if target is not None and replayed:
            target.known |= replayed
            self._notices |= {message_id_of(each) for each in target.new_commits[-len(replayed) :] if _is_notice(each)}


class _Line:
    """The commits of a line that the target does not have, oldest first.

    `places` are the places of its messages, each at its first place.
    """

    def __init__(self, bases: Sequence[Oid], commits: Sequence[Commit]) -> None:
        self._commits = list(commits)
        self._by_oid = {commit.oid: place for place, commit in enumerate(commits)}
        below = [tuple(bases), *((commit.oid,) for commit in commits[:-1])]
        self._is_linear = len(bases) <= 1 and [commit.parents for commit in commits] == below
        self.places: dict[MessageId, int] = {}
        self._number(0)

    def reach(self, repository: Repository, commit: Commit) -> bool:
        """Return True if a commit is on the line, or above it with no merge between; then the line goes up to it."""
        above: list[Commit] = []
        while self._is_linear and commit.oid not in self._by_oid and len(commit.parents) == 1:
            if len(above) > _MAX_BETWEEN:
                return False
            above.append(commit)
            commit = read_commit(repository, commit.parents[0])
        place = self._by_oid.get(commit.oid)
        if not self._is_linear or place is None:
            return False
        if above:
            self._cut(place + 1)
            self._commits += reversed(above)
            self._by_oid |= {each.oid: at for at, each in enumerate(reversed(above), place + 1)}
            self._number(place + 1)
        return True

    def place_of(self, commit: Commit) -> int:
        """Return the place of a commit, the last one if the line does not end with it."""
        return self._by_oid.get(commit.oid, len(self._commits) - 1)

    def _cut(self, size: int) -> None:
        for commit in self._commits[size:]:
            del self._by_oid[commit.oid]
            if self.places.get(message_id_of(commit), -1) >= size:
                del self.places[message_id_of(commit)]
        del self._commits[size:]

    def _number(self, start: int) -> None:
        for place in range(start, len(self._commits)):
            self.places.setdefault(message_id_of(self._commits[place]), place)


@dataclass(frozen=True, slots=True)
class _Above:
    """The messages of a line up to a place."""

    places: Mapping[MessageId, int]
    last: int

    def __contains__(self, message: object) -> bool:
        place = self.places.get(MessageId(message)) if isinstance(message, str) else None
        return place is not None and place <= self.last


@dataclass(frozen=True, slots=True)
class _Written:
    """The messages that the same cherry-pick has written, if the line has them too, or they are its notices."""

    written: set[MessageId]
    known: set[MessageId]
    line: _Above
    notices: set[MessageId]

    def __contains__(self, message: object) -> bool:
        return message in self.written and message in self.known and (message in self.line or message in self.notices)


def _is_notice(commit: Commit) -> bool:
    return commit.kind == "notice"


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


def _require_droppable(repository: Repository, objects: Objects, commit: Commit, directory: str | None) -> None:
    """Refuse roots, and merges that did more than join two sides without conflicts."""
    if not commit.parents:
        raise Refused("the two histories have nothing in common", hint="pick single messages with cherry-pick")
    plain = commit.kind == "merge" and len(commit.parents) == 2
    divergence = find_divergence(repository, objects, *commit.parents, directory=directory) if plain else None
    if divergence is None or find_disagreements(objects, divergence):
        raise Refused(
            f"the merge {message_id_of(commit)[:8]} cannot be replayed: it resolved conflicts",
            hint="merge the branch instead: scopes merge",
        )
