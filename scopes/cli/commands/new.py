"""`scopes conv new`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.new import new as create


def new(
    context: typer.Context,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="What it is about")] = None,
    identity: Annotated[
        str | None, typer.Option("--id", metavar="NAME", help="Its id, instead of the next conv-NNN")
    ] = None,
    participants: Annotated[
        list[str] | None, typer.Option("--participant", metavar="NAME", help="Somebody who takes part")
    ] = None,
) -> int:
    """Start a conversation.

    It begins with the branch main and no messages. The first command that writes also makes the store.

    Examples:
      scopes conv new --title "Login fails on Safari"
      scopes conv new --id login-bug --participant planner --participant reviewer
      id=$(scopes conv new)
    """
    call: Invocation = context.obj
    return call.show(
        create(call.repository(create=True), conversation_id=identity, title=title, participants=participants or ())
    )
