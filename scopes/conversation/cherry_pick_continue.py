"""`cherry-pick --continue`, `--skip` and `--abort`: finish picking that stopped at a message, or give it up."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.conversation.cherry_pick import KIND, CherryPickOutcome, finish_cherry_pick, plan_picks
from scopes.conversation.merge_continue import abort_merge
from scopes.errors import Refused
from scopes.history.revparse import find_conversation
from scopes.ids import BranchName, ConversationId, Oid, OperationId
from scopes.merge.auto_resolve import Policy, read_policy
from scopes.merge.replay import replay_commits
from scopes.merge.sequencer import ReplayState, find_replay, read_target, with_stop_applied
from scopes.result import Result
from scopes.store.graph import is_ancestor, list_new_commits
from scopes.store.packs.bulk import bulk_objects
from scopes.store.repository import Repository, read_commit
from scopes.store.transaction import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class CherryPickAborted(Result):
    """Picking that was given up: `target` has nothing of it, what was said on `branch` comes back with undo."""

    conversation: ConversationId
    target: BranchName
    branch: BranchName
    active_branch: BranchName
    operation: OperationId


def continue_cherry_pick(repository: Repository, conversation: str, branch: str | None = None) -> CherryPickOutcome:
    """Put the rest on top of the message that it stopped at, and of what was said and resolved there.

    What was appended to the branch meanwhile stays below all of it.

    Raises:
        NotFound, Ambiguous: none waits, or several do and none is named; or the branch is gone.
        Conflicted: a conflict is still open.
        Refused: the branch was moved otherwise meanwhile, or what came to it disagrees with what was resolved.
    """
    chosen = find_conversation(repository, conversation)
    with exclusive_write(repository):
        course = find_replay(repository, chosen, branch, KIND)
        return _go_on(repository, with_stop_applied(repository, course), course.waiting.tip, "merged")


def skip_cherry_pick(repository: Repository, conversation: str, branch: str | None = None) -> CherryPickOutcome:
    """Leave out the message that it stopped at, with what was said about it, and pick the rest; raises as above."""
    chosen = find_conversation(repository, conversation)
    with exclusive_write(repository):
        course = find_replay(repository, chosen, branch, KIND)
        return _go_on(repository, course, course.waiting.target_tip, "abandoned")


def abort_cherry_pick(repository: Repository, conversation: str, branch: str | None = None) -> CherryPickAborted:
    """Remove the branch that it waits on; everything else is as it was before.

    Raises:
        NotFound, Ambiguous: none waits, or several do and none is named.
    """
    chosen = find_conversation(repository, conversation)
    course = find_replay(repository, chosen, branch, KIND)
    done = abort_merge(repository, chosen, course.waiting.branch)
    return CherryPickAborted(
        conversation=chosen,
        target=course.branch,
        branch=done.branch,
        active_branch=done.active_branch,
        operation=done.operation,
    )


def _go_on(repository: Repository, course: ReplayState, tip: Oid, status: str) -> CherryPickOutcome:
    policy = read_policy(repository.config, "automatic")
    current = read_target(repository, course)
    if current != course.original:
        course, tip = _over(repository, course, tip, current, policy)
    commits = [read_commit(repository, oid) for oid in course.todo]
    with bulk_objects(repository) as objects:
        line = plan_picks(repository, objects, tip, commits, policy)
    return finish_cherry_pick(repository, course, line, current, status=status)


def _over(
    repository: Repository, course: ReplayState, tip: Oid, current: Oid, policy: Policy
) -> tuple[ReplayState, Oid]:
    """Put what was picked and resolved so far over what came to the branch meanwhile."""
    where = f"{course.conversation}/{course.branch}"
    hint = f"give it up: scopes conv cherry-pick {course.conversation} --abort, and begin again"
    if not is_ancestor(repository, course.original, current):
        raise Refused(f"{where} was moved since picking began", hint=hint)
    appended = list_new_commits(repository, current, course.original, (course.original,))
    picked = list_new_commits(repository, tip, course.original, (course.original,))
    with bulk_objects(repository) as objects:
        line = replay_commits(objects, current, picked, policy, appended)
        if line.stop is not None:
            raise Refused(f"what came to {where} meanwhile disagrees with what was picked", hint=hint)
    present = {moved.old: moved.new for moved in line.moved}
    moved = tuple(each._replace(new=present.get(each.new, each.new)) for each in course.moved)
    return replace(course, original=current, onto=current, moved=moved), line.tip
