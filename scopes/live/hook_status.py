"""`scopes setup --status`: how the hooks of each target are, and what became of the last turn."""

from __future__ import annotations

import os
from dataclasses import dataclass
from shlex import quote

from scopes.clock import in_seconds
from scopes.code_links.git_hooks import NAME as GIT
from scopes.hosts.hook_target import HookEnvironment, HookState, HookTarget
from scopes.live.event_log import HOOK_LOG, Event, read_events
from scopes.live.hook_failures import last_events
from scopes.live.hook_targets import TARGETS, find_target
from scopes.live.lost_store import find_lost_store, find_returned_store
from scopes.result import Column, Result
from scopes.store.projects import cache_directory, find_worktree


@dataclass(frozen=True, slots=True, kw_only=True)
class HooksStatus(Result):
    """How the hooks of each target are, in the order of the table."""

    rows_in = "hooks"
    columns = (
        Column("target", "Agent", "agent"),
        Column("condition", "Hooks", "state"),
        Column("last", "Last turn", "time"),
        Column("problems", "Problem", "below"),
        Column("file", form="path"),
        Column("has_trailers", "Trailers"),
        Column("cure", form="below", on="terminal"),
    )

    hooks: tuple[HookState, ...]

    @property
    def remark(self) -> list[str]:
        """What is outdated, and what to do."""
        return [
            f"{row.target} is outdated: {row.detail}; what to do: {row.cure}"
            for row in self.hooks
            if row.condition == "outdated"
        ]


def hooks_status(environment: HookEnvironment, state_directory: str, names: tuple[str, ...] = ()) -> HooksStatus:
    """Return how the hooks of some targets are, all without names, and what became of the last turn of each.

    Raises:
        Invalid: there is no such target.
    """
    targets = [find_target(name) for name in names] or list(TARGETS.values())
    events = read_events(state_directory, HOOK_LOG)
    worktree = find_worktree(environment.cwd)
    repository = None if worktree is None else worktree.shared
    states = []
    for target in targets:
        state = _state_of(target, environment)
        run, failed = last_events(events.events, target.name, repository)
        state = _with_problems(state, environment, state_directory, failed)
        states.append(state if run is None else state._replace(last=run.time))
    return HooksStatus(hooks=tuple(states), notes=events.notes)


def _with_problems(
    state: HookState, environment: HookEnvironment, state_directory: str, failed: Event | None
) -> HookState:
    """Return a state with what is wrong, such as the failure that a hook logged, and what to do."""
    if state.condition == "missing":
        return state
    detail, cures = state.detail, []
    lost = None
    if state.store is not None:
        lost = find_lost_store(state.store, cache_directory(environment.environ), state_directory)
    if lost is not None:
        detail = "; ".join(filter(None, [detail, lost.text]))
        cures.append(lost.hint)
    elif state.condition == "outdated":
        cures.append(f"scopes setup {quote(state.target)} --only hooks")
    elif state.condition == "unreadable":
        cures.append("fix the file")
    if failed is not None:
        error = str(failed.details.get("error"))
        returned = find_returned_store(error)
        if returned is not None:
            error = f"the store {returned} was gone at {in_seconds(failed.time)}"
        state = state._replace(problem=error)
        cures += ["record what is missing: scopes import"] if returned is not None else _cures_of(state.target, failed)
    return state._replace(detail=detail, cure="; ".join(dict.fromkeys(filter(None, cures))) or None)


def _cures_of(target: str, failed: Event) -> list[str]:
    """Return what to do about a turn that was not recorded, or about commits."""
    hint = failed.details.get("hint")
    hints = [] if hint is None else [str(hint)]
    if target == GIT:
        return [*hints, "they stay: the next commit records them too"]
    if failed.details.get("unusable") is True:
        return ["an import cannot help; the warning ends with the next turn that is recorded"]
    return hints or ["scopes import"]


def _state_of(target: HookTarget, environment: HookEnvironment) -> HookState:
    """Return how the hooks of a target are; hooks without a store of their own follow SCOPES_STORE, as agents do."""
    state = target.status(environment)
    given = environment.environ.get("SCOPES_STORE")
    if state.condition == "outdated" and given is not None and environment.store == os.path.abspath(given):
        following = target.status(environment._replace(store=None))
        return following if following.condition == "installed" else state
    return state
