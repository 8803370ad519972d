"""`scopes skills`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from scopes.cli.host_options import user_directories
from scopes.cli.invocation import Invocation
from scopes.handover.skill_status import skills_status as read_status
from scopes.handover.skills import FOLDERS, install_skill, remove_skill

_TARGETS = f"agents (the folder that several agents share), {', '.join(name for name in FOLDERS if name != 'agents')}"
Target: TypeAlias = Annotated[str, typer.Argument(metavar="TARGET", help=_TARGETS)]
InProject: TypeAlias = Annotated[
    bool, typer.Option("--project", help="For the current directory only, instead of for the user")
]


def skills_install(
    context: typer.Context,
    target: Target,
    project: InProject = False,
    only_show: Annotated[bool, typer.Option("--print", help="Print the file, and write nothing")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace another skill of the name scopes, or one that was edited")
    ] = False,
) -> int:
    """Teach an agent when and how to use scopes.

    A short file, SKILL.md, is written into the folder where the agent looks for skills. The agent reads its first lines
    at start, and the rest when a task fits. The target agents is the folder .agents/skills, which several agents read,
    codex among them. The environment variables that move the configuration of an agent, such as CLAUDE_CONFIG_DIR, are
    respected. With --project a link that leads out of the project is refused. What --force replaces is kept with the
    ending .before-scopes, and scopes skills remove brings it back; one of scopes with your changes is kept with the
    ending .before-scopes-change.

    Examples:
      scopes skills install claude-code
      scopes skills install codex --print
      scopes skills install agents --project
    """
    invocation: Invocation = context.obj
    return invocation.show(
        install_skill(target, user_directories(invocation), project=project, force=force, only_show=only_show)
    )


def skills_status(
    context: typer.Context,
    targets: Annotated[list[str] | None, typer.Argument(metavar="TARGET", help="Which targets (default: all)")] = None,
) -> int:
    """Show which agents have the skill file.

    Shows the file of the user for every target, and that of the current directory where there is one. A file is
    outdated if it is of another version of scopes. In a pipe the state of the skill is one of installed, outdated,
    missing and unreadable.

    Examples:
      scopes skills status
      scopes skills status claude-code --json
    """
    invocation: Invocation = context.obj
    return invocation.show(read_status(user_directories(invocation), tuple(targets or ())))


def skills_remove(
    context: typer.Context,
    target: Target,
    project: InProject = False,
    force: Annotated[
        bool, typer.Option("--force", help="Delete it even if scopes did not write it, it was edited, or others use it")
    ] = False,
) -> int:
    """Delete the skill file of an agent.

    A file in a shared folder that was also installed for another agent stays for that one.

    Examples:
      scopes skills remove claude-code
    """
    invocation: Invocation = context.obj
    return invocation.show(remove_skill(target, user_directories(invocation), project=project, force=force))
