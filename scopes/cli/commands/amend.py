"""`scopes conv amend`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.append_input import read_text, refuse_blank
from scopes.cli.arguments import AuthorKind, AuthorName, ConversationArgument, MessageArgument, OnBranch, author_of
from scopes.cli.invocation import Invocation
from scopes.conversation.amend import amend as run_amend


def amend(
    context: typer.Context,
    conversation: ConversationArgument,
    message: MessageArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The new text; - reads standard input")],
    author: AuthorName = None,
    author_kind: AuthorKind = None,
    branch: OnBranch = None,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Store a text that is empty or blank too")] = False,
) -> int:
    """Replace the text of a message with a new version.

    The original stays in the history: the new version is a message of its own that refers to it.

    Examples:
      scopes conv amend conv-001 k3x9 "I meant port 8080"
      scopes conv amend conv-001 main~1 - < better.txt
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    new_text = read_text(invocation, text)
    if not allow_empty:
        refuse_blank(new_text)
    return invocation.show(
        run_amend(
            repository,
            conversation,
            message,
            new_text,
            author=author_of(invocation, author, author_kind),
            branch=branch,
        )
    )
