"""`scopes amend`."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from scopes.cli.append_input import parse_document, read_text, refuse_blank
from scopes.cli.arguments import (
    AuthorKind,
    AuthorName,
    OnBranch,
    TextOption,
    author_of,
    choose_text,
    conversation_of_message,
    find_conversation,
)
from scopes.cli.invocation import Invocation
from scopes.conversation.append import amend as run_amend
from scopes.errors import Invalid
from scopes.model.message import EXAMPLES
from scopes.store.repository import Repository


def amend(
    context: typer.Context,
    conversation: Annotated[
        str, typer.Argument(metavar="CONV", help="The conversation of the message; an id alone is searched in all")
    ],
    message: Annotated[
        str | None, typer.Argument(metavar="MESSAGE", help="The message: an id, main~2 or a tag", show_default=False)
    ] = None,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="The new text; - reads standard input", show_default=False)
    ] = None,
    text_option: TextOption = None,
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
    The id of a message needs no conversation before it.

    Examples:
      scopes amend k3x9 "I meant port 8080"
      scopes amend conv-001 k3x9 "I meant port 8080"
      scopes amend conv-001 main~1 - < better.txt
      scopes amend conv-001 k3x9 "SQLite after all" --data '{"topic": "db", "decision": "SQLite"}'
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    conversation, message, text = _split_words(repository, conversation, message, choose_text(text, text_option))
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


def _split_words(repository: Repository, first: str, second: str | None, text: str | None) -> tuple[str, str, str]:
    """Split the words `[CONV] MESSAGE TEXT` into conversation, message and text.

    Raises:
        Invalid: the message or the text is missing.
        NotFound, Ambiguous: there is no message of that id, or there are several.
    """
    if second is None:
        conversation, message = conversation_of_message(repository, first), first
    elif text is None and find_conversation(repository, first) is None:
        conversation, message, text = conversation_of_message(repository, first), first, second
    else:
        conversation, message = first, second
    if text is None:
        words = quote(message) if second is None else f"{quote(conversation)} {quote(message)}"
        raise Invalid("no text given", hint=f"for example: scopes amend {words} 'the new text'")
    return conversation, message, text
