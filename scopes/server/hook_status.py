"""`scopes hooks`: the programs whose hooks can be installed, and how their hooks are.

To add one: an object that meets `HookTarget`, and its place in TARGETS.
"""

from __future__ import annotations

from dataclasses import dataclass

from scopes.code_links.git_hooks import GitHooks
from scopes.conversation.doctor import Check
from scopes.errors import Invalid
from scopes.hosts.agent_hooks import AGENT_HOOKS
from scopes.hosts.hook_target import HookPlace, HookState, HookTarget
from scopes.hosts.opencode_plugin import OpenCodePlugin
from scopes.result import Result
from scopes.server.event_log import HOOK_LOG, read_events

TARGETS: dict[str, HookTarget] = {target.name: target for target in (*AGENT_HOOKS, OpenCodePlugin(), GitHooks())}


@dataclass(frozen=True, slots=True, kw_only=True)
class HooksStatus(Result):
    """How the hooks of each target are, in the order of the table."""

    hooks: tuple[HookState, ...]


def find_target(name: str) -> HookTarget:
    """Return a target.

    Raises:
        Invalid: there is none of this name.
    """
    if name not in TARGETS:
        raise Invalid(f"{name!a} has no hooks that can be installed", hint=f"it is one of {', '.join(TARGETS)}")
    return TARGETS[name]


def hooks_status(place: HookPlace, state_directory: str, names: tuple[str, ...] = ()) -> HooksStatus:
    """Return how the hooks of some targets are, all without names, and what became of the last turn of each.

    Raises:
        Invalid: there is no such target.
    """
    targets = [find_target(name) for name in names] or list(TARGETS.values())
    events = read_events(state_directory, HOOK_LOG)
    last = {event.details.get("target"): event for event in events.events}
    states = []
    for target in targets:
        state = target.status(place)
        event = last.get(target.name)
        if event is not None:
            problem = event.details.get("error") if event.name == "failed" else None
            state = state._replace(last=event.time, problem=None if problem is None else str(problem))
        states.append(state)
    return HooksStatus(hooks=tuple(states), notes=events.notes)


def check_hooks(place: HookPlace, state_directory: str) -> tuple[Check, ...]:
    """Return a check for `doctor` for each target with hooks."""
    found = []
    for state in hooks_status(place, state_directory).hooks:
        name = f"hooks of {state.target}"
        if state.problem is not None:
            found.append(Check(name, "warning", f"the last turn was not recorded: {state.problem}", "scopes import"))
        elif state.condition == "outdated":
            found.append(Check(name, "warning", f"outdated: {state.detail}", f"scopes hooks install {state.target}"))
        elif state.condition == "unreadable":
            found.append(Check(name, "warning", state.detail, "mend the file"))
        elif state.condition == "installed":
            found.append(Check(name, "ok", state.file))
    return tuple(found)
