"""`scopes conv stats`."""

from __future__ import annotations

import typer

from scopes.cli.arguments import Conversation
from scopes.cli.invocation import Invocation
from scopes.conversation.stats import stats as collect


def stats(context: typer.Context, conversation: Conversation) -> int:
    """Count messages, authors and kinds.

    Over all branches, each message once.

    Examples:
      scopes conv stats conv-001
      scopes conv stats conv-001 --json
    """
    call: Invocation = context.obj
    return call.show(collect(call.repository(), conversation))
