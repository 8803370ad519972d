"""`rebase --continue`, `--skip` and `--abort`: finish a rebase that stopped at a message, or give it up."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.conversation.merge_continue import abort_merge
from scopes.conversation.rebase import KIND, RebaseOutcome, finish_rebase
from scopes.errors import Refused
from scopes.history.revparse import find_conversation
from scopes.ids import BranchName, ConversationId, Oid, OperationId
from scopes.merge.auto_resolve import read_policy
from scopes.merge.replay import plan_line
from scopes.merge.sequencer import ReplayState, find_replay, read_target, with_stop_applied
from scopes.result import Result
from scopes.store.graph import is_ancestor, list_merge_bases, list_new_commits
from scopes.store.objects import Commit
from scopes.store.packs.bulk import bulk_objects
from scopes.store.repository import Repository, read_commit
from scopes.store.transaction import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class RebaseAborted(Result):
    """A rebase that was given up: `source` stands where it stood, what was said on `branch` comes back with undo."""

    conversation: ConversationId
    source: BranchName
    branch: BranchName
    active_branch: BranchName
    operation: OperationId


def continue_rebase(repository: Repository, conversation: str, branch: str | None = None) -> RebaseOutcome:
    """Put the rest on top of the message that it stopped at, and of what was said and resolved there.

    What was appended to the branch meanwhile is moved along, after everything else.

    Raises:
        NotFound, Ambiguous: no rebase waits, or several do and none is named; or the branch is gone.
        Conflicted: a conflict is still open.
        Refused: the branch was moved otherwise meanwhile.
    """
    chosen = find_conversation(repository, conversation)
    with exclusive_write(repository):
        course = find_replay(repository, chosen, branch, KIND)
        return _go_on(repository, with_stop_applied(repository, course), course.waiting.tip, "merged")


def skip_rebase(repository: Repository, conversation: str, branch: str | None = None) -> RebaseOutcome:
    """Leave out the message that it stopped at, with what was said about it, and move the rest; raises as above."""
    chosen = find_conversation(repository, conversation)
    with exclusive_write(repository):
        course = find_replay(repository, chosen, branch, KIND)
        return _go_on(repository, course, course.waiting.target_tip, "abandoned")


def abort_rebase(repository: Repository, conversation: str, branch: str | None = None) -> RebaseAborted:
    """Remove the branch that a rebase waits on; everything else is as it was before it.

    Raises:
        NotFound, Ambiguous: no rebase waits, or several do and none is named.
    """
    chosen = find_conversation(repository, conversation)
    course = find_replay(repository, chosen, branch, KIND)
    done = abort_merge(repository, chosen, course.waiting.branch)
    return RebaseAborted(
        conversation=chosen,
        source=course.branch,
        branch=done.branch,
        active_branch=done.active_branch,
        operation=done.operation,
    )


def _go_on(repository: Repository, course: ReplayState, tip: Oid, status: str) -> RebaseOutcome:
    current = read_target(repository, course)
    todo = [read_commit(repository, oid) for oid in course.todo]
    todo += _appended(repository, course, current)
    beside = list_new_commits(repository, tip, current, list_merge_bases(repository, tip, current))
    policy = read_policy(repository.config, "automatic")
    with bulk_objects(repository) as objects:
        plan = plan_line(repository, objects, tip, todo, beside, policy)
    return finish_rebase(repository, replace(course, original=current), plan, current, status=status)


def _appended(repository: Repository, course: ReplayState, current: Oid) -> tuple[Commit, ...]:
    """Return what came to the branch since the rebase began."""
    if current == course.original:
        return ()
    if not is_ancestor(repository, course.original, current):
        raise Refused(
            f"{course.conversation}/{course.branch} was moved since the rebase began",
            hint=f"give it up: scopes conv rebase {course.conversation} --abort, and begin again",
        )
    return list_new_commits(repository, current, course.original, (course.original,))
