"""`scopes conv decisions`."""

from __future__ import annotations

import typer

from scopes.cli.arguments import Conversation
from scopes.cli.invocation import Invocation
from scopes.conversation.decisions import decisions as collect


def decisions(context: typer.Context, conversation: Conversation) -> int:
    """List what was decided.

    Each with its message, date and agent; a decision stands while the active branch holds it.

    Examples:
      scopes conv decisions conv-001
      scopes conv decisions conv-001 --json
    """
    call: Invocation = context.obj
    return call.show(collect(call.repository(), conversation))
