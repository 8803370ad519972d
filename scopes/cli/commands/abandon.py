"""`scopes conv abandon`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import BranchArgument, ConversationArgument
from scopes.cli.invocation import Invocation
from scopes.conversation.abandon import abandon as run_abandon


def abandon(
    context: typer.Context,
    conversation: ConversationArgument,
    branch: BranchArgument,
    revive: Annotated[bool, typer.Option("--revive", help="Make it an ordinary branch again")] = False,
) -> int:
    """Hide a branch from lists and keep its history.

    Examples:
      scopes conv abandon conv-001 try-sqlite
      scopes conv abandon conv-001 try-sqlite --revive
    """
    invocation: Invocation = context.obj
    return invocation.show(run_abandon(invocation.repository(), conversation, branch, revive=revive))
