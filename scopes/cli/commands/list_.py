"""`scopes conv list`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.list import ConversationList, list_conversations


def list_(
    context: typer.Context,
    template: Annotated[
        str | None, typer.Option("--format", metavar="TEMPLATE", help="One row each, for example '{id}\\t{title}'")
    ] = None,
    nul: Annotated[bool, typer.Option("-z", help="End rows with NUL instead of newline")] = False,
) -> int:
    """List conversations, newest first.

    On a terminal a table; in a pipe one row each: id, participants, branches, last activity, title.

    Examples:
      scopes conv list
      scopes conv list --json
      scopes conv list --format '{id} {messages} {title}'
    """
    call: Invocation = context.obj
    repository = call.find_repository()
    if repository is None:
        return call.show(ConversationList(conversations=(), notes=call.no_store_notes()), nul=nul, template=template)
    whole = call.json or template is not None or not call.stdout.isatty()
    return call.show(list_conversations(repository, whole=whole), nul=nul, template=template)
