"""`scopes hooks status`: how the hooks of each target are, and what became of the last turn."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.hosts.hook_target import HookEnvironment, HookState
from scopes.result import Result
from scopes.server.event_log import HOOK_LOG, read_events
from scopes.server.hook_targets import TARGETS, find_target


@dataclass(frozen=True, slots=True, kw_only=True)
class HooksStatus(Result):
    """How the hooks of each target are, in the order of the table."""

    hooks: tuple[HookState, ...]


def hooks_status(environment: HookEnvironment, state_directory: str, names: tuple[str, ...] = ()) -> HooksStatus:
    """Return how the hooks of some targets are, all without names, and what became of the last turn of each.

    Raises:
        Invalid: there is no such target.
    """
    targets = [find_target(name) for name in names] or list(TARGETS.values())
    events = read_events(state_directory, HOOK_LOG)
    last = {event.details.get("target"): event for event in events.events}
    states = []
    for target in targets:
        state = target.status(environment)
        event = last.get(target.name)
        if event is not None:
            problem = event.details.get("error") if event.name == "failed" else None
            state = state._replace(last=event.time, problem=None if problem is None else str(problem))
        states.append(state)
    return HooksStatus(hooks=tuple(states), notes=events.notes)
