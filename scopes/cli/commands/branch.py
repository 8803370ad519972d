"""`scopes conv branch`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import Conversation
from scopes.cli.invocation import Invocation
from scopes.conversation.branch import branch as create
from scopes.conversation.branch import list_branches
from scopes.errors import Invalid


def branch(
    context: typer.Context,
    conversation: Conversation,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The branch's name")] = None,
    purpose: Annotated[
        str | None,
        typer.Option(
            "--purpose",
            metavar="PURPOSE",
            help="analysis, alternative-solution, verification, collaboration or conflict-resolution",
        ),
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Whose branch it is")] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="MESSAGE", help="Where it begins: a branch, main~2, an id")
    ] = None,
    named: Annotated[str | None, typer.Option("--name", metavar="NAME", help="The branch's name, as an option")] = None,
    no_switch: Annotated[bool, typer.Option("--no-switch", help="Leave the active branch as it is")] = False,
    abandoned: Annotated[bool, typer.Option("--abandoned", help="List abandoned branches too")] = False,
) -> int:
    """Create a branch, or list the branches.

    It begins at the tip of the active branch, or at any message, and becomes the active branch. Without a name it is
    called after its purpose and agent. Without name, purpose, agent and start, the branches are listed.

    Examples:
      scopes conv branch conv-001
      scopes conv branch conv-001 --purpose alternative-solution --agent general-purpose
      scopes conv branch conv-001 try-sqlite --from main~2
    """
    call: Invocation = context.obj
    if named is not None and name is not None:
        raise Invalid("the branch is named twice", hint="leave out NAME or --name")
    chosen = named if named is not None else name
    if chosen is None and purpose is None and agent is None and start is None:
        return call.show(list_branches(call.repository(), conversation, abandoned=abandoned))
    return call.show(
        create(
            call.repository(),
            conversation,
            purpose=purpose,
            agent=agent,
            start=start,
            name=chosen,
            switch=not no_switch,
        )
    )
