"""`scopes hooks status`: how the hooks of each target are, and what became of the last turn."""

from __future__ import annotations

import os
from dataclasses import dataclass

from scopes.hosts.hook_target import HookEnvironment, HookState, HookTarget
from scopes.live.event_log import HOOK_LOG, read_events
from scopes.live.hook_failures import last_events
from scopes.live.hook_targets import TARGETS, find_target
from scopes.result import Result
from scopes.store.projects import find_worktree


@dataclass(frozen=True, slots=True, kw_only=True)
class HooksStatus(Result):
    """How the hooks of each target are, in the order of the table; `home` is the user's home directory."""

    hooks: tuple[HookState, ...]
    home: str = ""


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
        if failed is not None and state.condition != "missing":
            problem, is_unusable = str(failed.details.get("error")), failed.details.get("unusable") is True
            hint = failed.details.get("hint")
            state = state._replace(problem=problem, unusable=is_unusable, cure=None if hint is None else str(hint))
        states.append(state if run is None else state._replace(last=run.time))
    return HooksStatus(hooks=tuple(states), home=environment.home, notes=events.notes)


def _state_of(target: HookTarget, environment: HookEnvironment) -> HookState:
    """Return how the hooks of a target are; hooks without a store of their own follow SCOPES_STORE, as agents do."""
    state = target.status(environment)
    given = environment.environ.get("SCOPES_STORE")
    if state.condition == "outdated" and given is not None and environment.store == os.path.abspath(given):
        following = target.status(environment._replace(store=None))
        return following if following.condition == "installed" else state
    return state
