"""`scopes conv files`."""

from __future__ import annotations

import typer

from scopes.cli.arguments import LATEST, ConversationOrLatestArgument
from scopes.cli.invocation import Invocation
from scopes.conversation.files import files as run_files


def files(context: typer.Context, conversation: ConversationOrLatestArgument = LATEST) -> int:
    """List the files that a conversation touched.

    For each file the messages that read, changed or mentioned it; the most recently touched file first.

    Examples:
      scopes conv files conv-001
      scopes conv files conv-001 --json
    """
    invocation: Invocation = context.obj
    return invocation.show(run_files(invocation.repository(), conversation))
