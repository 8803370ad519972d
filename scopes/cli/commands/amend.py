"""`scopes conv amend`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.authorship import author_of
from scopes.cli.input import read_text
from scopes.cli.invocation import Invocation
from scopes.conversation.amend import amend as replace_text


def amend(
    context: typer.Context,
    conversation: Annotated[str, typer.Argument(metavar="CONV", help="The conversation: its id or a unique start of it")],
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="The message: an id, main~2, a tag")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What it should say; - reads standard input")],
    author: Annotated[str | None, typer.Option("--as", metavar="NAME", help="Who says so")] = None,
    author_kind: Annotated[str | None, typer.Option("--author-kind", metavar="KIND", help="human, agent, ...")] = None,
    branch: Annotated[str | None, typer.Option("--branch", metavar="BRANCH", help="On which branch")] = None,
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
        replace_text(
            repository, conversation, message, words, author=who.name, author_kind=who.kind, branch=branch
        )
    )
