"""`scopes conv retract`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import AuthorKind, AuthorName, Conversation, Message, OnBranch, author_of
from scopes.cli.invocation import Invocation
from scopes.conversation.amend import retract as take_back


def retract(
    context: typer.Context,
    conversation: Conversation,
    message: Message,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why")] = "",
    author: AuthorName = None,
    author_kind: AuthorKind = None,
    branch: OnBranch = None,
) -> int:
    """Mark a message as taken back.

    It stays in the history; a notice after it says that it does not count.

    Examples:
      scopes conv retract conv-001 k3x9 --reason "wrong file"
    """
    call: Invocation = context.obj
    repository = call.repository()
    who = author_of(call, author, author_kind)
    return call.show(
        take_back(repository, conversation, message, reason, author=who.name, author_kind=who.kind, branch=branch)
    )
