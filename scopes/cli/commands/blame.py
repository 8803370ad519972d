"""`scopes conv blame`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import ConversationOrBranch
from scopes.cli.invocation import Invocation
from scopes.conversation.blame import blame as trace


def blame(
    context: typer.Context,
    where: ConversationOrBranch,
    key: Annotated[
        str | None, typer.Option("--key", metavar="KEY", help="What is said: decisions/auth, methods")
    ] = None,
    file: Annotated[str | None, typer.Option("--file", metavar="PATH", help="A file that messages wrote")] = None,
) -> int:
    """Show which message decided something or wrote a file.

    Merges and rebases are looked through: the message that said it is named, not the one that brought it in.

    Examples:
      scopes conv blame conv-001 --key decisions/auth
      scopes conv blame conv-001/main --key decisions
      scopes conv blame conv-001 --file src/app.py
    """
    call: Invocation = context.obj
    return call.show(trace(call.repository(), where, key=key, file=file))
