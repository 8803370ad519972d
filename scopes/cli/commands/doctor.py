"""`scopes doctor`."""

from __future__ import annotations

from scopes.cli import usage
from scopes.cli.host_options import hook_environment, user_directories
from scopes.cli.invocation import Invocation
from scopes.conversation.doctor import doctor as run_doctor
from scopes.handover.skill_status import skills_status
from scopes.hosts.mcp_status import mcp_status
from scopes.server.doctor_checks import check_agents, check_hooks, check_installed


def doctor(context: usage.Context) -> int:
    """Check the installation and the store.

    Checks versions, git, permissions, locks and leftover files; the versions of the Agent Client Protocol (ACP) and of
    the Model Context Protocol (MCP); which agents are installed or have transcripts here; their hooks, MCP
    servers and skills. Changes nothing.

    Examples:
      scopes doctor
      scopes doctor --json
    """
    invocation: Invocation = context.obj
    agents = check_agents(invocation.state_directory, invocation.environ, invocation.home)
    hooks = check_hooks(hook_environment(invocation), invocation.state_directory)
    servers = check_installed("mcp server", mcp_status(hook_environment(invocation)).servers)
    skills = check_installed("skill", skills_status(user_directories(invocation)).skills)
    checks = (*agents, *hooks, *servers, *skills)
    return invocation.show(run_doctor(invocation.store_path, invocation.repository_or_error(), checks))
