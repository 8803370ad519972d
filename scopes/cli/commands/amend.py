"""`scopes conv amend`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.append_input import read_text
from scopes.cli.arguments import AuthorKind, AuthorName, Conversation, Message, OnBranch, author_of
from scopes.cli.invocation import Invocation
from scopes.conversation.amend import amend as replace_text


def amend(
    context: typer.Context,
    conversation: Conversation,
    message: Message,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What it should say; - reads standard input")],
    author: AuthorName = None,
    author_kind: AuthorKind = None,
    branch: OnBranch = None,
) -> int:
    """Replace the text of a message by a new version.

    A message that was recorded stays as it is: the new version is a message that refers to it.

    Examples:
      scopes conv amend conv-001 k3x9 "I meant port 8080"
      scopes conv amend conv-001 main~1 - < better.txt
    """
    call: Invocation = context.obj
    repository = call.repository()
    who = author_of(call, author, author_kind)
    words = read_text(call, text)
    return call.show(
        replace_text(repository, conversation, message, words, author=who.name, author_kind=who.kind, branch=branch)
    )
