"""`rebase`: replay the own messages of a branch on top of another base, with the same ids and new commits (S4-20).

The branch moves once, after all messages are replayed. A conflict stops the rebase on a conflict-resolution branch;
see `merge.replay_control`.
"""

from __future__ import annotations

from dataclasses import replace
from shlex import quote
from typing import Any

from scopes.errors import Refused
from scopes.history.handles import BranchHandle, ConversationHandle, StoreHandle
from scopes.history.remote_branches import is_same_branch
from scopes.history.revisions import MAIN, Revision, find_root_commit
from scopes.ids import Oid
from scopes.merge.in_progress import list_in_progress, moving_branch, require_resolved
from scopes.merge.replay_control import (
    ReplayAborted,
    ReplayOutcome,
    ReplayVerb,
    abort_replay,
    begin_replay,
    continue_replay,
    read_rules,
    skip_message,
)
from scopes.merge.replay_plan import ReplayPlan, plan_line, plan_rebase
from scopes.merge.replay_state import REBASE, ReplayState, list_written, require_free
from scopes.merge.rewrite import ReplayRules, Stop
from scopes.model.conversation import BranchEntry, branch_id
from scopes.result import Note, plural
from scopes.store.graph import is_ancestor, list_merge_bases, list_new_commits
from scopes.store.objects import Commit
from scopes.store.packs.bulk import bulk_objects
from scopes.store.repository import Objects, Repository, read_commit


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
        rules = read_rules(repository, state.conversation, state.onto)
        fork = None if from_base else fork
        plan = plan_rebase(repository, objects, state.original, fork, state.onto, rules)
        left_out = _left_out(repository, state, plan, onto, dry_run=dry_run)
        return state, replace(plan, notes=(*plan.notes, *left_out))

    return begin_replay(_REBASE, repository, prepare, dry_run=dry_run)


def continue_rebase(repository: Repository, conversation: str, branch: str | None = None) -> ReplayOutcome:
    """Replay the rest on top of the conflict-resolution branch; messages appended to the branch meanwhile come last.

    Raises:
        NotFound, Ambiguous: no rebase is in progress, or there are several and no branch is named; or the branch is
            gone.
        Conflicted: a conflict is still open.
        Refused: the branch was rewound or moved in the meantime.
    """
    return continue_replay(_REBASE, repository, conversation, branch)


def skip_rebase(repository: Repository, conversation: str, branch: str | None = None) -> ReplayOutcome:
    """Replay the rest without the message that the rebase stopped at; raises as `continue_rebase` does."""
    return skip_message(_REBASE, repository, conversation, branch)


def abort_rebase(repository: Repository, conversation: str, branch: str | None = None) -> ReplayAborted:
    """Delete the conflict-resolution branch; the branch is unchanged.

    Raises:
        NotFound, Ambiguous: no rebase is in progress, or there are several and no branch is named.
    """
    return abort_replay(_REBASE, repository, conversation, branch)


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


class _Rebase(ReplayVerb):
    kind = REBASE

    def plan_rest(
        self, repository: Repository, state: ReplayState, tip: Oid, current: Oid, rules: ReplayRules
    ) -> tuple[ReplayState, ReplayPlan]:
        commits = [*(read_commit(repository, oid) for oid in state.todo), *_appended(repository, state, current)]
        new_in_target = list_new_commits(repository, tip, current, list_merge_bases(repository, tip, current))
        with bulk_objects(repository) as objects:
            written = list_written(repository, state, tip)
            plan = plan_line(repository, objects, tip, commits, new_in_target, rules, written)
        return replace(state, original=current), plan

    def stop_summary(self, state: ReplayState, stop: Stop) -> str:
        del stop
        return f"stop to rebase {state.conversation}/{state.branch} onto {state.target}"

    def end_summary(self, state: ReplayState) -> str:
        return f"rebase {state.conversation}/{state.branch} onto {state.target}"

    def details(self, state: ReplayState, plan: ReplayPlan) -> dict[str, Any]:
        return {**super().details(state, plan), "onto": state.onto, "dropped": list(plan.dropped)}

    def new_entry(self, repository: Repository, state: ReplayState) -> BranchEntry | None:
        """Set fork point and parent; main keeps the root, and a branch above what a remote has of it its fork point."""
        if state.branch == MAIN:
            return None
        entry = BranchHandle(ConversationHandle(repository, state.conversation), state.branch).entry
        root = find_root_commit(repository, state.conversation)
        if is_same_branch(repository, root, state.target, branch_id(state.branch, entry)):
            return None
        return replace(entry, fork=state.onto, parent=state.parent or entry.parent)

    def end_notes(self, repository: Repository, state: ReplayState) -> tuple[Note, ...]:
        """Name the other branches that hold the old commits."""
        first = next((rewrite.old for rewrite in state.moved if rewrite.old != rewrite.new), None)
        if first is None:
            return ()
        tips = ConversationHandle(repository, state.conversation).tips
        in_progress = list_in_progress(repository, state.conversation)
        busy = {state.branch, *(each.branch for each in in_progress), *map(moving_branch, in_progress)}
        holding = [name for name, tip in tips.items() if name not in busy and is_ancestor(repository, first, tip)]
        if not holding:
            return ()
        command = f"scopes rebase {quote(state.conversation)} --branch {quote(holding[0])} --onto {quote(state.branch)}"
        text = f"these branches keep the former messages: {', '.join(holding)}"
        return (Note(text, f"rebase one of them: {command}"),)


_REBASE = _Rebase()


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
