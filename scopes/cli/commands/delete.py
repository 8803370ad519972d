"""`scopes conv delete`."""

from __future__ import annotations

import typer

from scopes.cli.arguments import Conversation
from scopes.cli.invocation import Invocation
from scopes.conversation.delete import delete as remove


def delete(context: typer.Context, conversation: Conversation) -> int:
    """Delete a conversation.

    It goes to the trash with all its branches, and undo brings it back until `scopes gc --expire`.

    Examples:
      scopes conv delete conv-001
      scopes undo
    """
    call: Invocation = context.obj
    return call.show(remove(call.repository(), conversation))
