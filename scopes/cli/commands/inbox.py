"""`scopes inbox`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.agents.inbox import read_inbox
from scopes.cli.commands.agents import AgentName
from scopes.cli.invocation import Invocation


def inbox(
    context: typer.Context,
    agent: AgentName,
    acknowledge: Annotated[
        bool, typer.Option("--ack", help="Take these messages out of the inbox; no other reader gets them")
    ] = False,
) -> int:
    """List the unread messages of an agent.

    They are in the order of sending. With --ack they are taken out of the inbox as they are printed: of several
    processes that read at once, each message goes to one. The messages stay in their conversations, and undo puts them
    back into the inbox.

    Examples:
      scopes inbox reviewer
      scopes inbox reviewer --ack --json
    """
    invocation: Invocation = context.obj
    return invocation.show(read_inbox(invocation.repository(), agent, acknowledge=acknowledge))
