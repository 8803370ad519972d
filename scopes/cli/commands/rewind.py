"""`scopes conv rewind`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import ConversationOrBranch, OnBranch
from scopes.cli.invocation import Invocation
from scopes.conversation.rewind import rewind as move_back


def rewind(
    context: typer.Context,
    conversation: ConversationOrBranch,
    to: Annotated[
        str | None, typer.Option("--to", metavar="MESSAGE", help="The message that is to be the last")
    ] = None,
    count: Annotated[int | None, typer.Option("-n", metavar="N", help="How many messages to take back (1)")] = None,
    branch: OnBranch = None,
) -> int:
    """Move a branch back to an earlier message.

    Nothing is lost: undo moves it forward again.

    Examples:
      scopes conv rewind conv-001
      scopes conv rewind conv-001/main -n 3
      scopes conv rewind conv-001 --to before-refactoring
    """
    call: Invocation = context.obj
    return call.show(move_back(call.repository(), conversation, branch=branch, to=to, count=count))
