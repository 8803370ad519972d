"""`scopes conv amend`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.append_input import EXAMPLES, parse_document, read_text, refuse_blank
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
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="JSON", help="The new content of a typed message, as for append"),
    ] = None,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Store a text that is empty or blank too")] = False,
) -> int:
    """Replace the text of a message with a new version.

    The original stays in the history: the new version is a message of its own that refers to it. What a typed message
    stated, such as a decision, is replaced by --data; without it the message becomes plain text and that is withdrawn.

    Examples:
      scopes conv amend conv-001 k3x9 "I meant port 8080"
      scopes conv amend conv-001 main~1 - < better.txt
      scopes conv amend conv-001 k3x9 "SQLite after all" --data '{"topic": "db", "decision": "SQLite"}'
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
            data=None if data is None else parse_document(data, "--data", f"--data '{EXAMPLES['decision']}'"),
        )
    )
