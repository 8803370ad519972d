"""`cherry-pick`: put single messages on top of a branch, with the same ids; from another branch or conversation.

One that disagrees with what it finds there stops on a branch of its own, with its conflicts as data; see
`cherry_pick_resume` for how it goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scopes.errors import Conflicted, NotFound, Refused
from scopes.history.messages import message_id_of
from scopes.history.revparse import list_branch_tips, resolve_branch, resolve_revision_anywhere
from scopes.ids import BranchName, MessageId, Oid, OperationId
from scopes.merge.auto_resolve import Policy, read_policy
from scopes.merge.in_progress import open_conflicts_at, require_resolved
from scopes.merge.replay import ReplayResult, Stop, replay_commits
from scopes.merge.sequencer import ReplayOutcome, ReplayState, commit_end, commit_stop, details_of, require_free
from scopes.result import Note
from scopes.store.graph import list_merge_bases, list_new_commits, walk_newest_first
from scopes.store.objects import Commit
from scopes.store.packs.bulk import bulk_objects
from scopes.store.repository import Objects, Repository, read_commit
from scopes.store.transaction import exclusive_write

KIND = "cherry-pick"


@dataclass(frozen=True, slots=True, kw_only=True)
class CherryPickOutcome(ReplayOutcome):
    """What picking messages for `target` came to."""

    target: BranchName


@dataclass(frozen=True, slots=True, kw_only=True)
class CherryPickUpToDate(CherryPickOutcome):
    """The branch has these messages already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CherryPicked(CherryPickOutcome):
    """The messages stand on the branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CherryPickConflicted(CherryPickOutcome):
    """It stopped at a message, which waits on `branch`; `remaining` are still to be picked after it."""

    stopped: MessageId
    remaining: int

    @property
    def exit_code(self) -> int:
        """Three: stopped on conflicts."""
        return 3


def cherry_pick(
    repository: Repository,
    conversation: str,
    messages: Sequence[str],
    *,
    branch: str | None = None,
    dry_run: bool = False,
) -> CherryPickOutcome:
    """Put messages, in the order given, on top of a branch (the active one); what it has already is left out.

    Raises:
        NotFound, Ambiguous: there is no such conversation, branch or message.
        Refused: something waits on the branch, or one of the messages is a merge.
        Conflicted: the branch or a message still has open conflicts.
    """
    policy = read_policy(repository.config, "automatic")
    if dry_run:
        with bulk_objects(repository, keep=False) as objects:
            course, commits, notes = _prepare(repository, conversation, messages, branch)
            line = plan_picks(repository, objects, course.original, commits, policy)
        return _foreseen(course, line, notes)
    with exclusive_write(repository):
        course, commits, notes = _prepare(repository, conversation, messages, branch)
        with bulk_objects(repository) as objects:
            line = plan_picks(repository, objects, course.original, commits, policy)
        return finish_cherry_pick(repository, course, line, course.original, notes)


def plan_picks(
    repository: Repository, objects: Objects, onto: Oid, commits: Sequence[Commit], policy: Policy
) -> ReplayResult:
    """Work out how messages come to stand on top of `onto`. Only objects are written, to `objects`; no ref moves."""
    line = ReplayResult(tip=onto, moved=())
    for number, commit in enumerate(commits, 1):
        bases = list_merge_bases(repository, onto, commit.oid)
        beside = list(list_new_commits(repository, onto, commit.oid, bases))
        beside += (read_commit(objects, moved.new) for moved in line.moved)
        one = replay_commits(objects, line.tip, [commit], policy, beside)
        line = replace(
            one,
            moved=(*line.moved, *one.moved),
            conflicts=(*one.conflicts, *line.conflicts),
            notes=tuple(dict.fromkeys((*line.notes, *one.notes))),
            todo=tuple(later.oid for later in commits[number:]),
        )
        if line.stop is not None:
            break
    return line


def _prepare(
    repository: Repository, conversation: str, messages: Sequence[str], branch: str | None
) -> tuple[ReplayState, list[Commit], tuple[Note, ...]]:
    chosen, name = resolve_branch(repository, conversation, branch)
    require_free(repository, chosen, name)
    tip = list_branch_tips(repository, chosen)[name]
    require_resolved(repository, tip, f"the branch {name}")
    found = dict.fromkeys(resolve_revision_anywhere(repository, text, chosen).oid for text in messages)
    commits = [read_commit(repository, oid) for oid in found]
    for commit in commits:
        _refuse_unfit(repository, commit)
    known = {message_id_of(commit) for commit in walk_newest_first(repository, [tip])}
    fresh = {message_id_of(commit): commit for commit in commits if message_id_of(commit) not in known}
    present = [message_id_of(commit)[:8] for commit in commits if message_id_of(commit) in known]
    notes = (Note(f"on {chosen}/{name} already: {', '.join(present)}"),) if present else ()
    source = ", ".join(identity[:8] for identity in fresh) or "nothing"
    course = ReplayState(
        kind=KIND, conversation=chosen, branch=name, original=tip, source=source, target=name, onto=tip
    )
    return course, list(fresh.values()), notes


def _refuse_unfit(repository: Repository, commit: Commit) -> None:
    name = message_id_of(commit)[:8]
    if not commit.parents:
        raise NotFound(f"{name} is no message", hint="it is the beginning of a conversation")
    if len(commit.parents) > 1:
        raise Refused(f"{name} is a merge", hint="pick the messages that it brought in, or merge: scopes conv merge")
    if open_conflicts_at(repository, commit.oid):
        raise Conflicted(
            f"{name} disagrees with what it stands on, and a later message decides that",
            hint="merge the branch that both are on: scopes conv merge",
        )


def _foreseen(course: ReplayState, line: ReplayResult, notes: tuple[Note, ...]) -> CherryPickOutcome:
    """Say what would happen."""
    if line.stop is not None:
        return _conflicted(course, line, line.stop, course.branch, None, notes)
    return (CherryPicked if line.moved else CherryPickUpToDate)(
        conversation=course.conversation,
        target=course.branch,
        branch=course.branch,
        tip=None,
        moved=line.moved,
        conflicts=line.conflicts,
        dry_run=True,
        notes=(*notes, *line.notes),
    )


def finish_cherry_pick(  # noqa: PLR0917 - a course, what came of it, and what to say of it
    repository: Repository,
    course: ReplayState,
    line: ReplayResult,
    current: Oid,
    notes: tuple[Note, ...] = (),
    status: str = "merged",
) -> CherryPickOutcome:
    """Move the branch from `current` to the end of the line, or stop where that stops; its objects are written."""
    course = replace(course, moved=(*course.moved, *line.moved))
    where = f"{course.conversation}/{course.branch}"
    if line.stop is not None:
        summary = f"stop to pick {line.stop.id[:8]} for {where}"
        name, done = commit_stop(repository, course, line.stop, line.todo, summary)
        return _conflicted(course, line, line.stop, name, done.id, notes)
    operation = None
    if line.tip != current or course.pending is not None:
        summary = f"pick {len(course.moved)} for {where}"
        details = details_of(course.moved)
        operation = commit_end(repository, course, current, line.tip, None, summary, status=status, details=details).id
    return (CherryPickUpToDate if operation is None else CherryPicked)(
        conversation=course.conversation,
        target=course.branch,
        branch=course.branch,
        tip=line.tip,
        moved=course.moved,
        conflicts=line.conflicts,
        operation=operation,
        notes=(*notes, *line.notes),
    )


def _conflicted(  # noqa: PLR0917
    course: ReplayState,
    line: ReplayResult,
    stop: Stop,
    branch: BranchName,
    operation: OperationId | None,
    notes: tuple[Note, ...],
) -> CherryPickConflicted:
    return CherryPickConflicted(
        conversation=course.conversation,
        target=course.branch,
        branch=branch,
        tip=None if operation is None else stop.new,
        moved=course.moved if operation is not None else line.moved,
        conflicts=line.conflicts,
        dry_run=operation is None,
        operation=operation,
        notes=(*notes, *line.notes),
        stopped=stop.id,
        remaining=len(line.todo),
    )
