"""`scopes conv switch`."""

from __future__ import annotations

import typer

from scopes.cli.arguments import Branch, Conversation
from scopes.cli.invocation import Invocation
from scopes.conversation.switch import switch as make_active


def switch(
    context: typer.Context,
    conversation: Conversation,
    branch: Branch,
) -> int:
    """Make another branch the active one.

    The active branch is the one that append, log and branch mean when none is named.

    Examples:
      scopes conv switch conv-001 main
      scopes conv switch conv-001 analysis/security-review
    """
    call: Invocation = context.obj
    return call.show(make_active(call.repository(), conversation, branch))
