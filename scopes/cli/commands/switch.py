"""`scopes switch`."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from scopes.cli.arguments import split_source
from scopes.cli.invocation import Invocation
from scopes.conversation.branch import switch as run_switch
from scopes.errors import Invalid


def switch(
    context: typer.Context,
    conversation: Annotated[
        str, typer.Argument(metavar="CONV", help="The conversation (default: the latest), or CONV/BRANCH")
    ],
    branch: Annotated[str | None, typer.Argument(metavar="BRANCH", help="The branch")] = None,
    agent: Annotated[str | None, typer.Option("--to", hidden=True)] = None,  # of `checkout`
) -> int:
    """Make another branch the active one (also: checkout).

    Commands such as append, log and branch use the active branch when no branch is given.

    Examples:
      scopes switch main
      scopes switch conv-001 main
      scopes switch conv-001 analysis/security-review
    """
    invocation: Invocation = context.obj
    if agent is not None:
        from scopes.cli.commands.resume import resume

        place = conversation if branch is None else f"{conversation}/{branch}"
        return resume(context, place, agent, only_print=True)
    repository = invocation.repository()
    conversation_name, branch_name = split_source(repository, "switch", (conversation, branch))
    if branch_name is None:
        raise Invalid("no branch given", hint=f"list them: scopes branch {quote(conversation_name)}")
    return invocation.show(run_switch(repository, conversation_name, branch_name))
