"""`scopes conv new`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.new import new as run_new


def new(
    context: typer.Context,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="The title")] = None,
    conversation_id: Annotated[
        str | None, typer.Option("--id", metavar="NAME", help="The id (default: the next conv-NNN)")
    ] = None,
    participants: Annotated[
        list[str] | None, typer.Option("--participant", metavar="NAME", help="An agent or person that takes part")
    ] = None,
) -> int:
    """Start a conversation.

    The conversation has a branch main and no messages. The store is created if there is none yet.

    Examples:
      scopes conv new --title "Login fails on Safari"
      scopes conv new --id login-bug --participant planner --participant reviewer
      id=$(scopes conv new)
    """
    invocation: Invocation = context.obj
    return invocation.show(
        run_new(
            invocation.repository(create=True),
            conversation_id=conversation_id,
            title=title,
            participants=participants or (),
        )
    )
