"""`scopes conv switch`."""

from __future__ import annotations

import typer

from scopes.cli.arguments import BranchArgument, ConversationArgument
from scopes.cli.invocation import Invocation
from scopes.conversation.switch import switch as run_switch


def switch(
    context: typer.Context,
    conversation: ConversationArgument,
    branch: BranchArgument,
) -> int:
    """Make another branch the active one.

    Commands such as append, log and branch use the active branch when no branch is given.

    Examples:
      scopes conv switch conv-001 main
      scopes conv switch conv-001 analysis/security-review
    """
    invocation: Invocation = context.obj
    return invocation.show(run_switch(invocation.repository(), conversation, branch))
