"""`scopes skills`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from scopes.cli import usage
from scopes.cli.invocation import Invocation
from scopes.handover.skills import FOLDERS, install_skill, remove_skill

Agent: TypeAlias = Annotated[str, usage.Argument(metavar="AGENT", help=", ".join(FOLDERS))]
InProject: TypeAlias = Annotated[
    bool, usage.Option("--project", help="For the current directory only, instead of for the user")
]


def skills_install(
    context: usage.Context,
    agent: Agent,
    project: InProject = False,
    only_show: Annotated[bool, usage.Option("--print", help="Print the file, and write nothing")] = False,
    force: Annotated[bool, usage.Option("--force", help="Replace another skill of the name scopes")] = False,
) -> int:
    """Teach an agent when and how to use scopes.

    A short file, SKILL.md, is written into the folder where the agent looks for skills. The agent reads its first lines
    at start, and the rest when a task fits. agents is the folder that several agents share, codex among them. With
    --project a link that leads out of the project is refused.

    Examples:
      scopes skills install claude-code
      scopes skills install codex --print
      scopes skills install agents --project
    """
    invocation: Invocation = context.obj
    directory = invocation.cwd if project else invocation.home
    return invocation.show(install_skill(agent, directory, project=project, force=force, only_show=only_show))


def skills_remove(
    context: usage.Context,
    agent: Agent,
    project: InProject = False,
    force: Annotated[
        bool, usage.Option("--force", help="Delete it even if scopes did not write it, or others use it")
    ] = False,
) -> int:
    """Delete the skill file of an agent.

    A file in a shared folder that was also installed for another agent stays for that one.

    Examples:
      scopes skills remove claude-code
    """
    invocation: Invocation = context.obj
    directory = invocation.cwd if project else invocation.home
    return invocation.show(remove_skill(agent, directory, project=project, force=force))
