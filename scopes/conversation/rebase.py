"""`rebase`: put a branch's own messages on top of another place, with the same ids and new commits (S4-20).

The branch moves once, when everything stands at its new place. A message that disagrees with what it finds there stops
on a branch of its own, with its conflicts as data; see `rebase_resume` for how it goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.history.metadata import read_metadata
from scopes.history.revparse import MAIN, Revision, list_branch_tips, resolve_branch, resolve_revision
from scopes.ids import BranchName, MessageId, Oid, OperationId
from scopes.merge.auto_resolve import read_policy
from scopes.merge.in_progress import require_resolved
from scopes.merge.replay import RebasePlan, Stop, plan_rebase
from scopes.merge.sequencer import ReplayOutcome, ReplayState, commit_end, commit_stop, details_of, require_free
from scopes.model.conversation import BranchEntry
from scopes.result import Note
from scopes.store.graph import is_ancestor
from scopes.store.packs.bulk import bulk_objects
from scopes.store.repository import Repository
from scopes.store.transaction import exclusive_write

KIND = "rebase"


@dataclass(frozen=True, slots=True, kw_only=True)
class RebaseOutcome(ReplayOutcome):
    """What a rebase of `source` onto `onto` came to; `messages` are the branch's own."""

    source: BranchName
    onto: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RebaseUpToDate(RebaseOutcome):
    """The branch stands there already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebased(RebaseOutcome):
    """Everything stands at its new place, and the branch with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebaseConflicted(RebaseOutcome):
    """A rebase that stopped at a message, which waits on `branch`; `remaining` are still to be moved after it."""

    stopped: MessageId
    remaining: int

    @property
    def exit_code(self) -> int:
        """Three: stopped on conflicts."""
        return 3


def rebase(
    repository: Repository, conversation: str, *, onto: str, branch: str | None = None, dry_run: bool = False
) -> RebaseOutcome:
    """Put the own messages of a branch (the active one) on top of `onto`: a branch, or any message.

    Raises:
        NotFound, Ambiguous: there is no such conversation, branch or message.
        Refused: something waits on the branch, or it holds a merge that cannot be replayed.
        Conflicted: the branch or the new base still has open conflicts.
    """
    policy = read_policy(repository.config, "automatic")
    if dry_run:
        with bulk_objects(repository, keep=False) as objects:
            course, entry = _prepare(repository, conversation, branch, onto)
            plan = plan_rebase(repository, objects, course.original, entry.fork, course.onto, policy)
        return preview_rebase(course, plan)
    with exclusive_write(repository):
        course, entry = _prepare(repository, conversation, branch, onto)
        with bulk_objects(repository) as objects:
            plan = plan_rebase(repository, objects, course.original, entry.fork, course.onto, policy)
        return finish_rebase(repository, course, plan, course.original)


def _prepare(
    repository: Repository, conversation: str, branch: str | None, onto: str
) -> tuple[ReplayState, BranchEntry]:
    chosen, name = resolve_branch(repository, conversation, branch)
    require_free(repository, chosen, name)
    place = resolve_revision(repository, onto, chosen)
    tip = list_branch_tips(repository, chosen)[name]
    require_resolved(repository, tip, f"the branch {name}")
    require_resolved(repository, place.oid, f"the new base {_shown(place, onto)}")
    course = ReplayState(
        kind=KIND,
        conversation=chosen,
        branch=name,
        original=tip,
        source=name,
        target=_shown(place, onto),
        onto=place.oid,
        parent=place.branch if place.branch != name else None,
    )
    return course, read_metadata(repository, chosen).branches.get(name, BranchEntry())


def _shown(place: Revision, text: str) -> str:
    return text if place.branch is None or "~" in text or "^" in text or "@{" in text else place.branch


def preview_rebase(course: ReplayState, plan: RebasePlan) -> RebaseOutcome:
    """Say what would happen."""
    if plan.line.stop is not None:
        return _conflicted(course, plan, plan.line.stop, course.branch, None)
    kind = RebaseUpToDate if plan.line.tip == course.original else Rebased
    return kind(
        conversation=course.conversation,
        source=course.branch,
        onto=course.target,
        branch=course.branch,
        tip=None,
        moved=() if kind is RebaseUpToDate else plan.line.moved,
        conflicts=plan.line.conflicts,
        dry_run=True,
        notes=plan.notes,
    )


def finish_rebase(
    repository: Repository, course: ReplayState, plan: RebasePlan, current: Oid, *, status: str = "merged"
) -> RebaseOutcome:
    """Move the branch from `current` to the end of the line, or stop where that stops; its objects are written."""
    line = plan.line
    course = replace(course, moved=(*course.moved, *line.moved))
    if line.stop is not None:
        summary = f"stop to rebase {course.conversation}/{course.branch} onto {course.target}"
        name, done = commit_stop(repository, course, line.stop, line.todo, summary)
        return _conflicted(course, plan, line.stop, name, done.id)
    operation = None
    notes = plan.notes
    if line.tip != current or course.pending is not None:
        summary = f"rebase {course.conversation}/{course.branch} onto {course.target}"
        details = {**details_of((*course.moved, *plan.present)), "onto": course.onto, "dropped": list(plan.dropped)}
        notes += _notes_on_others(repository, course)
        entry = _entry(repository, course)
        operation = commit_end(repository, course, current, line.tip, entry, summary, status=status, details=details).id
    return (RebaseUpToDate if operation is None else Rebased)(
        conversation=course.conversation,
        source=course.branch,
        onto=course.target,
        branch=course.branch,
        tip=line.tip,
        moved=() if operation is None else course.moved,
        conflicts=line.conflicts,
        operation=operation,
        notes=notes,
    )


def _conflicted(
    course: ReplayState, plan: RebasePlan, stop: Stop, branch: BranchName, operation: OperationId | None
) -> RebaseConflicted:
    return RebaseConflicted(
        conversation=course.conversation,
        source=course.branch,
        onto=course.target,
        branch=branch,
        tip=None if operation is None else stop.new,
        moved=course.moved if operation is not None else plan.line.moved,
        conflicts=plan.line.conflicts,
        dry_run=operation is None,
        operation=operation,
        notes=plan.notes,
        stopped=stop.id,
        remaining=len(plan.line.todo),
    )


def _entry(repository: Repository, course: ReplayState) -> BranchEntry | None:
    """Describe the branch at its new base; main begins where the conversation begins, wherever it stands."""
    if course.branch == MAIN:
        return None
    entry = read_metadata(repository, course.conversation).branches.get(course.branch, BranchEntry())
    return replace(entry, fork=course.onto, parent=course.parent or entry.parent)


def _notes_on_others(repository: Repository, course: ReplayState) -> tuple[Note, ...]:
    """Name the branches that keep the former commits."""
    first = next((moved.old for moved in course.moved if moved.old != moved.new), None)
    if first is None:
        return ()
    tips = list_branch_tips(repository, course.conversation)
    keeping = [name for name, tip in tips.items() if name != course.branch and is_ancestor(repository, first, tip)]
    if not keeping:
        return ()
    names = ", ".join(keeping)
    hint = f"move one along: scopes conv rebase {course.conversation} --branch {keeping[0]} --onto {course.branch}"
    return (Note(f"these branches keep the former messages: {names}", hint),)
