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

    On a terminal a table, where the first prompt stands in for a title that is missing; in a pipe one row each: id,
    participants, branches, last activity, title.

    Examples:
      scopes conv list
      scopes conv list --json
      scopes conv list --format '{id} {messages} {title}'
    """
    call: Invocation = context.obj
    piped, complete = not call.stdout.isatty(), call.json or template is not None
    found = find_cached_list(call.store_path, call.index_directory, complete=complete) if piped else None
    if found is None:
        repository = call.find_repository()
        if repository is None:
            found = ConversationList(conversations=(), notes=call.no_store_notes())
        else:
            listing = load("scopes.conversation.list:list_conversations")
            with load("scopes.render.progress:progress")(call.output(), "looking at conversations") as advance:
                found = listing(
                    repository, call.index_directory,
                    openings=not piped and not complete, complete=complete, advance=advance,
                )  # fmt: skip
    return call.show(found, nul=nul, template=template)
