"""`cherry-pick`: replay single messages, of any branch or conversation, on top of a branch, with the same ids.

A conflict stops it on a conflict-resolution branch; see `merge.replay_control`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from shlex import quote

from scopes.errors import Conflicted, NotFound, Refused
from scopes.history.handles import StoreHandle
from scopes.history.messages import message_id_of
from scopes.history.revisions import resolve_all_anywhere
from scopes.ids import Oid
from scopes.merge.in_progress import require_resolved
from scopes.merge.records import open_conflicts_at
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
from scopes.merge.replay_plan import ReplayPlan, plan_picks
from scopes.merge.replay_state import CHERRY_PICK, ReplayState, list_written, require_free
from scopes.merge.rewrite import ReplayRules, ReplayTarget, Stop, rewrite_commits
from scopes.result import Note
from scopes.store.graph import is_ancestor, list_new_commits, walk_newest_first
from scopes.store.objects import Commit
from scopes.store.packs.bulk import bulk_objects
from scopes.store.repository import Objects, Repository, read_commit


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
        state, commits, notes = _resolve(repository, conversation, messages, branch)
        tips = [commit.oid for commit in commits]  # perhaps of another conversation
        rules = read_rules(repository, state.conversation, *tips)
        plan = plan_picks(repository, objects, state.original, commits, rules)
        return state, replace(plan, notes=(*notes, *plan.notes))

    return begin_replay(_CHERRY_PICK, repository, prepare, dry_run=dry_run)


def continue_cherry_pick(repository: Repository, conversation: str, branch: str | None = None) -> ReplayOutcome:
    """Replay the rest on top of the conflict-resolution branch; messages appended to the branch meanwhile come first.

    Raises:
        NotFound, Ambiguous: no cherry-pick is in progress, or there are several and no branch is named; or the branch
            was deleted.
        Conflicted: a conflict is still open.
        Refused: the branch was rewound or moved in the meantime, or appended messages conflict with the picked ones.
    """
    return continue_replay(_CHERRY_PICK, repository, conversation, branch)


def skip_cherry_pick(repository: Repository, conversation: str, branch: str | None = None) -> ReplayOutcome:
    """Replay the rest without the message that it stopped at; raises as `continue_cherry_pick` does."""
    return skip_message(_CHERRY_PICK, repository, conversation, branch)


def abort_cherry_pick(repository: Repository, conversation: str, branch: str | None = None) -> ReplayAborted:
    """Delete the conflict-resolution branch; the branch is unchanged.

    Raises:
        NotFound, Ambiguous: no cherry-pick is in progress, or there are several and no branch is named.
    """
    return abort_replay(_CHERRY_PICK, repository, conversation, branch)


def _resolve(
    repository: Repository, conversation: str, messages: Sequence[str], branch: str | None
) -> tuple[ReplayState, list[Commit], tuple[Note, ...]]:
    """Resolve and check the names; return the state to begin with, and the commits that the branch does not have."""
    target = StoreHandle(repository).branch(conversation, branch)
    conversation_id, name, tip = target.conversation.id, target.name, target.tip
    require_free(repository, conversation_id, name)
    require_resolved(repository, conversation_id, tip, f"the branch {name}")
    oids = dict.fromkeys(each.oid for each in resolve_all_anywhere(repository, messages, conversation_id))
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


class _CherryPick(ReplayVerb):
    kind = CHERRY_PICK

    def plan_rest(
        self, repository: Repository, state: ReplayState, tip: Oid, current: Oid, rules: ReplayRules
    ) -> tuple[ReplayState, ReplayPlan]:
        if current != state.original:
            state, tip = _replay_on_appended(repository, state, tip, current, rules)
        commits = [read_commit(repository, oid) for oid in state.todo]
        with bulk_objects(repository) as objects:
            return state, plan_picks(repository, objects, tip, commits, rules, list_written(repository, state, tip))

    def stop_summary(self, state: ReplayState, stop: Stop) -> str:
        return f"stop to pick {stop.id[:8]} for {state.conversation}/{state.branch}"

    def end_summary(self, state: ReplayState) -> str:
        done = f"pick {len(state.moved)}" if state.moved else f"skip {state.source}"
        return f"{done} for {state.conversation}/{state.branch}"


_CHERRY_PICK = _CherryPick()


def _replay_on_appended(
    repository: Repository, state: ReplayState, tip: Oid, current: Oid, rules: ReplayRules
) -> tuple[ReplayState, Oid]:
    """Replay the conflict-resolution branch on top of what was appended to the branch in the meantime."""
    where = f"{state.conversation}/{state.branch}"
    hint = f"abort it: scopes cherry-pick {quote(state.conversation)} --abort, and start again"
    if not is_ancestor(repository, state.original, current):
        raise Refused(f"{where} was moved since the cherry-pick began", hint=hint)
    appended = list_new_commits(repository, current, state.original, (state.original,))
    picked = list_new_commits(repository, tip, state.original, (state.original,))
    with bulk_objects(repository) as objects:
        result = rewrite_commits(objects, ReplayTarget(current, appended), picked, rules)
        if result.stop is not None:
            raise Refused(f"messages appended to {where} meanwhile conflict with the picked ones", hint=hint)
    new_commits = {rewrite.old: rewrite.new for rewrite in result.moved}
    moved = tuple(rewrite._replace(new=new_commits.get(rewrite.new, rewrite.new)) for rewrite in state.moved)
    return replace(state, original=current, onto=current, moved=moved), result.tip
