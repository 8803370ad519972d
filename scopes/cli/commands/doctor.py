"""`scopes doctor`."""

from __future__ import annotations

from collections.abc import Iterator

import typer

from scopes.cli.host_options import hook_environment, user_directories
from scopes.cli.invocation import Invocation
from scopes.conversation.verify import Check
from scopes.conversation.verify import doctor as run_doctor
from scopes.handover.skill_status import skills_status
from scopes.hosts.mcp_status import mcp_status
from scopes.server.background_check import BackgroundCheck
from scopes.server.doctor_checks import begin_mcp, check_agents, check_hooks, check_installed


def doctor(context: typer.Context) -> int:
    """Check the installation and the store.

    Checks versions, git, permissions and the lock; the versions of the Agent Client Protocol (ACP) and of the Model
    Context Protocol (MCP); which agents are installed or have transcripts here; their hooks, MCP servers and skills.
    Changes nothing.

    Examples:
      scopes doctor
      scopes doctor --json
    """
    invocation: Invocation = context.obj
    mcp = begin_mcp()  # while the store is looked at, which may wait for a lock
    return invocation.show(run_doctor(invocation.repository_or_error(), _check_others(invocation, mcp)))


def _check_others(invocation: Invocation, mcp: BackgroundCheck) -> Iterator[Check]:
    """Yield the checks of what is above the store."""
    yield from check_agents(invocation.state_directory, invocation.environ, invocation.home, mcp.take)
    yield from check_hooks(hook_environment(invocation), invocation.state_directory)
    yield from check_installed("mcp server", mcp_status(hook_environment(invocation)).servers)
    yield from check_installed("skill", skills_status(user_directories(invocation)).skills)
