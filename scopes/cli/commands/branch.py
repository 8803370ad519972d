"""`scopes branch`."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from scopes.cli.arguments import LATEST, ConversationOrLatestArgument, split_branch, split_source
from scopes.cli.invocation import Invocation
from scopes.conversation.branch import branch as run_branch
from scopes.conversation.branch import list_branches
from scopes.errors import Invalid

NUMBERED = "conv-"  # a mistyped id does not become the name of a branch


def branch(
    context: typer.Context,
    conversation: ConversationOrLatestArgument = LATEST,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The name of the new branch")] = None,
    purpose: Annotated[
        str | None,
        typer.Option(
            "--purpose",
            metavar="PURPOSE",
            help="analysis, alternative-solution, verification, collaboration or conflict-resolution",
        ),
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="The agent that owns the branch")] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="MESSAGE", help="Where it starts: a branch, main~2 or a message id")
    ] = None,
    name_option: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="The name, given as an option")
    ] = None,
    no_switch: Annotated[bool, typer.Option("--no-switch", help="Do not make it the active branch")] = False,
    include_hidden: Annotated[
        bool, typer.Option("--all", "--abandoned", help="List abandoned branches and those of ended conflicts, too")
    ] = False,
) -> int:
    """Create a branch, or list the branches.

    The new branch starts at the tip of the active branch, of CONV/BRANCH, or at --from, and becomes the active branch.
    Without a name it is named after --purpose and --agent. With none of these and no --from, the branches are listed.

    Examples:
      scopes branch conv-001
      scopes branch conv-001 --purpose alternative-solution --agent general-purpose
      scopes branch try-sqlite
      scopes branch conv-001 try-sqlite --from main~2
      scopes branch conv-001/try-sqlite try-postgres
    """
    invocation: Invocation = context.obj
    if name is not None and name_option is not None:
        raise Invalid("the branch name is given twice", hint="leave out NAME or --name")
    branch_name = name if name is not None else name_option
    if branch_name is None and not conversation.startswith(NUMBERED):
        repository = invocation.repository()
        conversation, branch_name = split_source(repository, "branch", (conversation, None))
    base = None
    if branch_name is not None or start is not None:
        conversation, base = split_branch(conversation, None)
    if branch_name is None and purpose is None and agent is None and start is None:
        return invocation.show(list_branches(invocation.repository(), conversation, include_hidden=include_hidden))
    if branch_name is None and purpose is None and agent is None:
        form = f"scopes branch {quote(conversation)} NAME --from {quote(start or 'BRANCH')}"
        raise Invalid("the new branch has no name", hint=f"{form}, or give --purpose or --agent")
    return invocation.show(
        run_branch(
            invocation.repository(),
            conversation,
            purpose=purpose,
            agent=agent,
            start=start,
            base=base,
            name=branch_name,
            switch=not no_switch,
        )
    )
