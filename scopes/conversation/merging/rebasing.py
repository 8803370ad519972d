"""What a rebase would do: which messages are a branch's own, which merges fall away, and the line that comes of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scopes.conversation.heads import KIND_TRAILER, MESSAGE_FILE, message_id_of
from scopes.conversation.merging.detecting import find_contests
from scopes.conversation.merging.replaying import Line, Moved, replay_line
from scopes.conversation.merging.settling import Policy
from scopes.conversation.merging.states import find_divergence
from scopes.errors import Refused
from scopes.ids import Oid
from scopes.result import Note
from scopes.store.graph import list_merge_bases, list_new_commits
from scopes.store.objects import Commit
from scopes.store.repository import Objects, Repository, read_tree


@dataclass(frozen=True, slots=True, kw_only=True)
class RebasePlan:
    """A rebase that is worked out and not yet done; `dropped` merges and `present` messages are left out."""

    line: Line
    dropped: tuple[Oid, ...]
    present: tuple[Moved, ...]

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
            present.append(Moved(message_id_of(commit), commit.oid, known.oid))
        else:
            chosen.append(commit)
    line = replay_line(objects, onto, chosen, policy, beside)
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
    if divergence is None or find_contests(objects, divergence):
        raise Refused(
            f"the merge {message_id_of(commit)[:8]} cannot be replayed: it settled what its sides disagreed on",
            hint="merge instead: scopes conv merge CONV --source BRANCH --target BRANCH",
        )


def _counted(things: Sequence[object], one: str) -> str:
    return f"{len(things)} {one}" if len(things) == 1 else f"{len(things)} {one}s"
