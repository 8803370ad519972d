"""Plan a rebase or a cherry-pick: which messages to replay, which to leave out, and where the replay stops.

Only objects are written; no ref moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from scopes.errors import Refused
from scopes.history.messages import KIND_TRAILER, MESSAGE_FILE, message_id_of
from scopes.ids import MessageId, Oid
from scopes.merge.detection import find_disagreements
from scopes.merge.divergence import find_divergence
from scopes.merge.rewrite import OwnMessages, ReplayResult, ReplayRules, Rewrite, rewrite_commits
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
            _require_droppable(repository, objects, commit, rules.directory)
            dropped.append(commit.oid)
        elif same is not None and _message_blob(objects, same) == _message_blob(objects, commit):
            present.append(Rewrite(message_id_of(commit), commit.oid, same.oid))
        else:
            chosen.append(commit)
    own = OwnMessages(frozenset(map(message_id_of, commits)), written)
    result = rewrite_commits(objects, onto, chosen, rules, new_in_target, own)
    notes = list(result.notes)
    if dropped:
        notes.append(Note(f"skipped {len(dropped)} {plural(len(dropped), 'merge')}: the replayed history is linear"))
    if present:
        notes.append(Note(f"skipped {len(present)} {plural(len(present), 'message')} that the new base already has"))
    return ReplayPlan(result=result, dropped=tuple(dropped), present=tuple(present), notes=tuple(notes))


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
    result = ReplayResult(tip=onto, moved=())
    for number, commit in enumerate(commits, 1):
        bases = list_merge_bases(repository, onto, commit.oid)
        new_in_target = list(list_new_commits(repository, onto, commit.oid, bases))
        new_in_target += (read_commit(objects, rewrite.new) for rewrite in result.moved)
        line = frozenset(map(message_id_of, list_new_commits(repository, commit.oid, onto, bases)))
        known = written | {rewrite.id for rewrite in result.moved}
        in_line = {message_id_of(each) for each in new_in_target if message_id_of(each) in line or _is_notice(each)}
        own = OwnMessages(line, known & in_line)
        one = rewrite_commits(objects, result.tip, [commit], rules, new_in_target, own)
        result = replace(
            one,
            moved=(*result.moved, *one.moved),
            conflicts=(*one.conflicts, *result.conflicts),
            notes=tuple(dict.fromkeys((*result.notes, *one.notes))),
            todo=tuple(later.oid for later in commits[number:]),
        )
        if result.stop is not None:
            break
    return ReplayPlan(result=result, notes=result.notes)


def _is_notice(commit: Commit) -> bool:
    return commit.trailers.get(KIND_TRAILER) == "notice"


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
    plain = commit.trailers.get(KIND_TRAILER) == "merge" and len(commit.parents) == 2
    divergence = find_divergence(repository, objects, *commit.parents, directory=directory) if plain else None
    if divergence is None or find_disagreements(objects, divergence):
        raise Refused(
            f"the merge {message_id_of(commit)[:8]} cannot be replayed: it resolved conflicts",
            hint="merge the branch instead: scopes merge",
        )
