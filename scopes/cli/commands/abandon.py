"""`scopes abandon`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import BranchArgument, ConversationOrBranchArgument, require_branch
from scopes.cli.invocation import Invocation
from scopes.conversation.branch import abandon as run_abandon


def abandon(
    context: typer.Context,
    conversation: ConversationOrBranchArgument,
    branch: BranchArgument = None,
    revive: Annotated[bool, typer.Option("--revive", help="Make it an ordinary branch again")] = False,
) -> int:
    """Hide a branch from lists and keep its history.

    Examples:
      scopes abandon conv-001 try-sqlite
      scopes abandon conv-001/try-sqlite --revive
    """
    invocation: Invocation = context.obj
    conversation, branch = require_branch(conversation, branch)
    return invocation.show(run_abandon(invocation.repository(), conversation, branch, revive=revive))
