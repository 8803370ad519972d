"""`scopes retract`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import AuthorKind, AuthorName, OnBranch, Reason, author_of, conversation_of_message
from scopes.cli.invocation import Invocation
from scopes.conversation.append import retract as run_retract


def retract(
    context: typer.Context,
    conversation: Annotated[
        str, typer.Argument(metavar="CONV", help="The conversation of the message; an id alone is searched in all")
    ],
    message: Annotated[
        str | None, typer.Argument(metavar="MESSAGE", help="The message: an id, main~2 or a tag", show_default=False)
    ] = None,
    reason: Reason = "",
    author: AuthorName = None,
    author_kind: AuthorKind = None,
    branch: OnBranch = None,
) -> int:
    """Mark a message as retracted.

    The message stays in the history. A new message after it records that it was retracted. The id of a message needs no
    conversation before it.

    Examples:
      scopes retract k3x9
      scopes retract conv-001 k3x9 --reason "wrong file"
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    if message is None:
        conversation, message = conversation_of_message(repository, conversation), conversation
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
