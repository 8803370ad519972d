"""`scopes conflicts show`."""

from __future__ import annotations

import typer

from scopes.cli.arguments import Conflict, Conversation
from scopes.cli.invocation import Invocation
from scopes.conversation.conflicts import show_conflict


def conflicts_show(context: typer.Context, conversation: Conversation, conflict: Conflict) -> int:
    """Show both sides of a conflict.

    What each side says, who said it, how sure they are, in which message; what was there before, and what has been said
    on the branch since.

    Examples:
      scopes conflicts show conv-001 1
      scopes conflicts show conv-001 3f2a --json
    """
    call: Invocation = context.obj
    return call.show(show_conflict(call.repository(), conversation, conflict))
