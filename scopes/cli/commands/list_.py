"""`scopes conv list`."""

from __future__ import annotations

import typer

from scopes.cli.arguments import NulRows, Template
from scopes.cli.invocation import Invocation
from scopes.conversation.list import ConversationList, list_conversations


def list_(
    context: typer.Context,
    template: Template = None,
    nul: NulRows = False,
) -> int:
    """List conversations, newest first.

    On a terminal a table, where the first prompt stands in for a title that is missing; in a pipe one row each: id,
    participants, branches, last activity, title.

    Examples:
      scopes conv list
      scopes conv list --json
      scopes conv list --format '{id} {messages} {title}'
    """
    call: Invocation = context.obj
    repository = call.find_repository()
    if repository is None:
        return call.show(ConversationList(conversations=(), notes=call.no_store_notes()), nul=nul, template=template)
    piped, whole = not call.stdout.isatty(), call.json or template is not None
    found = list_conversations(repository, titles=True, openings=not piped and not whole, whole=whole)
    return call.show(found, nul=nul, template=template)
