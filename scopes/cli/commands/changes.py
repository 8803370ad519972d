"""`scopes conv changes`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import Conversation, Since
from scopes.cli.invocation import Invocation
from scopes.conversation.changes import changes as derive


def changes(
    context: typer.Context,
    conversation: Conversation,
    since: Since = None,
    field: Annotated[
        str | None, typer.Option("--field", metavar="PATH", help="messages, branches.main, title, participants, ...")
    ] = None,
    cause: Annotated[
        str | None, typer.Option("--cause", metavar="CAUSE", help="user, agent, system or agent:NAME")
    ] = None,
    operation: Annotated[
        str | None, typer.Option("--operation", "--op", metavar="OP", help="CREATE, APPEND, UPDATE, DELETE or MERGE")
    ] = None,
) -> int:
    """List every change of a conversation, with its cause.

    Derived from the history itself, oldest first: messages, branches, title, tags, the active branch.

    Examples:
      scopes conv changes conv-001
      scopes conv changes conv-001 --field branches --since yesterday
      scopes conv changes conv-001 --cause agent:reviewer --json
    """
    call: Invocation = context.obj
    found = derive(call.repository(), conversation, since=since, field=field, cause=cause, operation=operation)
    return call.show(found)
