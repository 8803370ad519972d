"""The table of programs whose hooks can be installed.

To add one: an object that meets `HookTarget`, an entry in TARGETS and, for an agent, a reader in `hook_inputs`.
"""

from __future__ import annotations

from scopes.code_links.git_hooks import GitHooks
from scopes.errors import Invalid
from scopes.hosts.agent_hooks import AGENT_HOOKS
from scopes.hosts.agents import target_named
from scopes.hosts.hook_target import HookTarget
from scopes.hosts.opencode_plugin import OpenCodePlugin

TARGETS: dict[str, HookTarget] = {target.name: target for target in (*AGENT_HOOKS, OpenCodePlugin(), GitHooks())}


def find_target(name: str) -> HookTarget:
    """Return a target by one of the names of the agent.

    Raises:
        Invalid: there is none of this name.
    """
    name = target_named(name)
    if name not in TARGETS:
        raise Invalid(f"{name!a} is not a target of hooks", hint=f"targets: {', '.join(TARGETS)}")
    return TARGETS[name]
