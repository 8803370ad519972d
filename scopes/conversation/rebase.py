"""`rebase` and `cherry-pick`: replay messages on top of another base, with the same ids and new commits (S4-20).

The branch moves once, after all messages are replayed. A conflict stops it on a conflict-resolution branch;
see `merge.replay`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from shlex import quote

from scopes.errors import Conflicted, NotFound, Refused
from scopes.history.handles import BranchHandle, ConversationHandle, StoreHandle
from scopes.history.messages import message_id_of
from scopes.history.names import MAIN, Revision, resolve_revision_anywhere
from scopes.ids import Oid
from scopes.merge.in_progress import require_free, require_resolved
from scopes.merge.plan import open_conflicts_at
from scopes.merge.replay import (
    CHERRY_PICK,
    REBASE,
    ReplayAborted,
    ReplayOutcome,
    ReplayPlan,
    ReplayState,
    ReplayTarget,
    abort_replay,
    begin_replay,
    continue_replay,
    list_written,
    plan_line,
    plan_picks,
    plan_rebase,
    rewrite_commits,
    skip_message,
)
from scopes.merge.resolve import Policy, read_policy
from scopes.result import Note, plural
from scopes.store.graph import is_ancestor, list_merge_bases, list_new_commits, walk_newest_first
from scopes.store.objects import Commit, Objects, read_commit
from scopes.store.packs import bulk_objects
from scopes.store.repository import Repository


def rebase(
    repository: Repository,
    conversation: str,
    *,
    onto: str,
    onto_tip: Oid | None = None,
    branch: str | None = None,
    from_base: bool = False,
    dry_run: bool = False,
) -> ReplayOutcome:
    """Replay the own messages of a branch (default: the active one) on top of `onto`, a branch or any message.

    Its own messages are those after its fork point; with `from_base` all since the merge base with `onto`, as in git. A
    note has the number of messages that are left out. `onto_tip` is the commit of the new base if it is
    known; `onto` is only its name then.

    Raises:
        NotFound, Ambiguous: there is no such conversation, branch or message.
        Refused: the branch takes part in something in progress, or has a merge that cannot be replayed.
        Conflicted: the branch or the new base has open conflicts.
    """

    def prepare(objects: Objects) -> tuple[ReplayState, ReplayPlan]:
        state, fork = _resolve(repository, conversation, branch, onto, onto_tip)
        policy = read_policy(repository.config, "automatic")
        fork = None if from_base else fork
        plan = plan_rebase(repository, objects, state.original, fork, state.onto, policy)
        left_out = _left_out(repository, state, plan, onto, dry_run=dry_run)
        return state, replace(plan, notes=(*plan.notes, *left_out))

    return begin_replay(repository, prepare, dry_run=dry_run)


def continue_rebase(repository: Repository, conversation: str, branch: str | None = None) -> ReplayOutcome:
    """Replay the rest on top of the conflict-resolution branch; messages appended to the branch meanwhile come last.

    Raises:
        NotFound, Ambiguous: no rebase is in progress, or there are several and no branch is named; or the branch is
            gone.
        Conflicted: a conflict is still open.
        Refused: the branch was rewound or moved in the meantime.
    """
    return continue_replay(REBASE, repository, conversation, branch, _plan_rest_of_rebase)


def skip_rebase(repository: Repository, conversation: str, branch: str | None = None) -> ReplayOutcome:
    """Replay the rest without the message that the rebase stopped at; raises as `continue_rebase` does."""
    return skip_message(REBASE, repository, conversation, branch, _plan_rest_of_rebase)


def abort_rebase(repository: Repository, conversation: str, branch: str | None = None) -> ReplayAborted:
    """Delete the conflict-resolution branch; the branch is unchanged.

    Raises:
        NotFound, Ambiguous: no rebase is in progress, or there are several and no branch is named.
    """
    return abort_replay(REBASE, repository, conversation, branch)


def _resolve(
    repository: Repository, conversation: str, branch: str | None, onto: str, onto_tip: Oid | None
) -> tuple[ReplayState, Oid | None]:
    """Resolve and check the names; return the state to begin with, and the fork point of the branch."""
    moving = StoreHandle(repository).branch(conversation, branch)
    conversation_id, name, tip = moving.conversation.id, moving.name, moving.tip
    require_free(repository, conversation_id, name)
    base = moving.conversation.revision(onto) if onto_tip is None else Revision(conversation_id, None, onto_tip)
    require_resolved(repository, conversation_id, tip, f"the branch {name}")
    require_resolved(repository, conversation_id, base.oid, f"the new base {_base_name(base, onto)}")
    state = ReplayState(
        kind=REBASE,
        conversation=conversation_id,
        branch=name,
        original=tip,
        source=name,
        target=_base_name(base, onto),
        onto=base.oid,
        parent=base.branch if base.branch != name else None,
    )
    return state, moving.entry.fork


def _left_out(
    repository: Repository, state: ReplayState, plan: ReplayPlan, onto: str, *, dry_run: bool
) -> tuple[Note, ...]:
    """Return a note about the messages that the branch loses because they are below its fork point."""
    if not plan.inherited:
        return ()
    handle = BranchHandle(ConversationHandle(repository, state.conversation), state.branch)
    parent = handle.entry.parent
    where = "before its fork point" if parent in (None, MAIN, onto) else f"of {parent}"
    verb, them = ("is", "it") if plan.inherited == 1 else ("are", "them")
    text = f"{plan.inherited} {plural(plan.inherited, 'message')} {where} {verb} left out"
    command = f"scopes rebase {quote(str(handle))} --onto {quote(onto)} --from-base"
    return (Note(text, f"to take {them} too: {'' if dry_run else 'scopes undo, then '}{command}"),)


def _base_name(base: Revision, text: str) -> str:
    return text if base.branch is None or "~" in text or "^" in text or "@{" in text else base.branch


def _plan_rest_of_rebase(
    repository: Repository, state: ReplayState, tip: Oid, current: Oid, policy: Policy
) -> tuple[ReplayState, ReplayPlan]:
    commits = [*(read_commit(repository, oid) for oid in state.todo), *_appended(repository, state, current)]
    new_in_target = list_new_commits(repository, tip, current, list_merge_bases(repository, tip, current))
    with bulk_objects(repository) as objects:
        written = list_written(repository, state, tip)
        plan = plan_line(repository, objects, tip, commits, new_in_target, policy, written)
    return replace(state, original=current), plan


def _appended(repository: Repository, state: ReplayState, current: Oid) -> tuple[Commit, ...]:
    """Return what was appended to the branch since the rebase began."""
    if current == state.original:
        return ()
    if not is_ancestor(repository, state.original, current):
        raise Refused(
            f"{state.conversation}/{state.branch} was moved since the rebase began",
            hint=f"abort it: scopes rebase {quote(state.conversation)} --abort, and start again",
        )
    return list_new_commits(repository, current, state.original, (state.original,))


def cherry_pick(
    repository: Repository,
    conversation: str,
    messages: Sequence[str],
    *,
    branch: str | None = None,
    dry_run: bool = False,
) -> ReplayOutcome:
    """Replay messages in the given order on top of a branch (default: the active one), except those it has already.

    Raises:
        NotFound, Ambiguous: there is no such conversation, branch or message.
        Refused: the branch takes part in something in progress, or one of the messages is a merge.
        Conflicted: the branch or a message has open conflicts.
    """

    def prepare(objects: Objects) -> tuple[ReplayState, ReplayPlan]:
        state, commits, notes = _resolve_picks(repository, conversation, messages, branch)
        policy = read_policy(repository.config, "automatic")
        plan = plan_picks(repository, objects, state.original, commits, policy)
        return state, replace(plan, notes=(*notes, *plan.notes))

    return begin_replay(repository, prepare, dry_run=dry_run)


def continue_cherry_pick(repository: Repository, conversation: str, branch: str | None = None) -> ReplayOutcome:
    """Replay the rest on top of the conflict-resolution branch; messages appended to the branch meanwhile come first.

    Raises:
        NotFound, Ambiguous: no cherry-pick is in progress, or there are several and no branch is named; or the branch
            was deleted.
        Conflicted: a conflict is still open.
        Refused: the branch was rewound or moved in the meantime, or appended messages conflict with the picked ones.
    """
    return continue_replay(CHERRY_PICK, repository, conversation, branch, _plan_rest_of_picks)


def skip_cherry_pick(repository: Repository, conversation: str, branch: str | None = None) -> ReplayOutcome:
    """Replay the rest without the message that it stopped at; raises as `continue_cherry_pick` does."""
    return skip_message(CHERRY_PICK, repository, conversation, branch, _plan_rest_of_picks)


def abort_cherry_pick(repository: Repository, conversation: str, branch: str | None = None) -> ReplayAborted:
    """Delete the conflict-resolution branch; the branch is unchanged.

    Raises:
        NotFound, Ambiguous: no cherry-pick is in progress, or there are several and no branch is named.
    """
    return abort_replay(CHERRY_PICK, repository, conversation, branch)


def _resolve_picks(
    repository: Repository, conversation: str, messages: Sequence[str], branch: str | None
) -> tuple[ReplayState, list[Commit], tuple[Note, ...]]:
    """Resolve and check the names; return the state to begin with, and the commits that the branch does not have."""
    target = StoreHandle(repository).branch(conversation, branch)
    conversation_id, name, tip = target.conversation.id, target.name, target.tip
    require_free(repository, conversation_id, name)
    require_resolved(repository, conversation_id, tip, f"the branch {name}")
    revisions = (resolve_revision_anywhere(repository, text, conversation_id) for text in messages)
    oids = dict.fromkeys(each.oid for each in revisions)
    commits = [read_commit(repository, oid) for oid in oids]
    for commit in commits:
        _require_pickable(repository, commit)
    known = {message_id_of(commit) for commit in walk_newest_first(repository, [tip])}
    new = {message_id_of(commit): commit for commit in commits if message_id_of(commit) not in known}
    present = [message_id_of(commit)[:8] for commit in commits if message_id_of(commit) in known]
    notes = (Note(f"{conversation_id}/{name} already contains: {', '.join(present)}"),) if present else ()
    state = ReplayState(
        kind=CHERRY_PICK,
        conversation=conversation_id,
        branch=name,
        original=tip,
        source=", ".join(message[:8] for message in new) or "nothing",
        target=name,
        onto=tip,
    )
    return state, list(new.values()), notes


def _require_pickable(repository: Repository, commit: Commit) -> None:
    name = message_id_of(commit)[:8]
    if not commit.parents:
        raise NotFound(f"{name} is the root of a conversation", hint="name a message: scopes log")
    if len(commit.parents) > 1:
        raise Refused(f"{name} is a merge", hint="pick the messages that it merged, or merge: scopes merge")
    if open_conflicts_at(repository, commit.oid):
        raise Conflicted(
            f"{name} has open conflicts, and a later message resolves them",
            hint="merge the branch that both are on: scopes merge",
        )


def _plan_rest_of_picks(
    repository: Repository, state: ReplayState, tip: Oid, current: Oid, policy: Policy
) -> tuple[ReplayState, ReplayPlan]:
    if current != state.original:
        state, tip = _replay_on_appended(repository, state, tip, current, policy)
    commits = [read_commit(repository, oid) for oid in state.todo]
    with bulk_objects(repository) as objects:
        return state, plan_picks(repository, objects, tip, commits, policy, list_written(repository, state, tip))


def _replay_on_appended(
    repository: Repository, state: ReplayState, tip: Oid, current: Oid, policy: Policy
) -> tuple[ReplayState, Oid]:
    """Replay the conflict-resolution branch on top of what was appended to the branch in the meantime."""
    where = f"{state.conversation}/{state.branch}"
    hint = f"abort it: scopes cherry-pick {quote(state.conversation)} --abort, and start again"
    if not is_ancestor(repository, state.original, current):
        raise Refused(f"{where} was moved since the cherry-pick began", hint=hint)
    appended = list_new_commits(repository, current, state.original, (state.original,))
    picked = list_new_commits(repository, tip, state.original, (state.original,))
    with bulk_objects(repository) as objects:
        result = rewrite_commits(objects, ReplayTarget(current, appended), picked, policy)
        if result.stop is not None:
            raise Refused(f"messages appended to {where} meanwhile conflict with the picked ones", hint=hint)
    new_commits = {rewrite.old: rewrite.new for rewrite in result.moved}
    moved = tuple(rewrite._replace(new=new_commits.get(rewrite.new, rewrite.new)) for rewrite in state.moved)
    return replace(state, original=current, onto=current, moved=moved), result.tip
