"""`scopes conv blame`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import ConversationOrBranchArgument
from scopes.cli.invocation import Invocation
from scopes.conversation.blame import blame as run_blame


def blame(
    context: typer.Context,
    where: ConversationOrBranchArgument,
    key: Annotated[
        str | None, typer.Option("--key", metavar="KEY", help="A key of the state: decisions/auth, methods")
    ] = None,
    file: Annotated[str | None, typer.Option("--file", metavar="PATH", help="A file")] = None,
) -> int:
    """Show which message made a decision or wrote a file.

    Follows merges and rebases back to the original message. Give either --key or --file.

    Examples:
      scopes conv blame conv-001 --key decisions/auth
      scopes conv blame conv-001/main --key decisions
      scopes conv blame conv-001 --file src/app.py
    """
    invocation: Invocation = context.obj
    return invocation.show(run_blame(invocation.repository(), where, key=key, file=file))
