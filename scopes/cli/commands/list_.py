"""`scopes conv list`."""

from __future__ import annotations

import typer

from scopes.cli.arguments import NulRows, Template
from scopes.cli.invocation import Invocation
from scopes.conversation.list_cached import ConversationList, find_cached_list
from scopes.loading import load


def list_(
    context: typer.Context,
    template: Template = None,
    nul: NulRows = False,
) -> int:
    """List conversations, newest first.

    Prints a table on a terminal, with the first prompt where a title is missing; in a pipe one row each: id,
    participants, branches, last activity, title.

    Examples:
      scopes conv list
      scopes conv list --json
      scopes conv list --format '{id} {messages} {title}'
    """
    invocation: Invocation = context.obj
    piped, complete = not invocation.stdout.isatty(), invocation.json or template is not None
    result = find_cached_list(invocation.store_path, invocation.index_directory, complete=complete) if piped else None
    if result is None:
        repository = invocation.find_repository()
        if repository is None:
            result = ConversationList(conversations=(), notes=invocation.no_store_notes())
        else:
            list_conversations = load("scopes.conversation.list:list_conversations")
            with load("scopes.render.progress:progress")(invocation.output(), "reading conversations") as on_progress:
                result = list_conversations(
                    repository, invocation.index_directory,
                    openings=not piped and not complete, complete=complete, on_progress=on_progress,
                )  # fmt: skip
    return invocation.show(result, nul=nul, template=template)
