"""`scopes conv files`."""

from __future__ import annotations

import typer

from scopes.cli.arguments import Conversation
from scopes.cli.invocation import Invocation
from scopes.conversation.files import files as collect


def files(context: typer.Context, conversation: Conversation) -> int:
    """List the files that a conversation touched.

    With the messages that read, changed or named each, the last touched first.

    Examples:
      scopes conv files conv-001
      scopes conv files conv-001 --json
    """
    call: Invocation = context.obj
    return call.show(collect(call.repository(), conversation))
