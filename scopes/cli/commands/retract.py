"""`scopes conv retract`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import AuthorKind, AuthorName, ConversationArgument, MessageArgument, OnBranch, author_of
from scopes.cli.invocation import Invocation
from scopes.conversation.amend import retract as run_retract


def retract(
    context: typer.Context,
    conversation: ConversationArgument,
    message: MessageArgument,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for those who read it later")] = "",
    author: AuthorName = None,
    author_kind: AuthorKind = None,
    branch: OnBranch = None,
) -> int:
    """Mark a message as retracted.

    The message stays in the history. A new message after it records that it was retracted.

    Examples:
      scopes conv retract conv-001 k3x9 --reason "wrong file"
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    return invocation.show(
        run_retract(
            repository,
            conversation,
            message,
            reason,
            author=author_of(invocation, author, author_kind),
            branch=branch,
        )
    )
