"""`scopes changes`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import LATEST, ConversationOrLatestArgument, Since
from scopes.cli.invocation import Invocation
from scopes.conversation.changes import changes as run_changes


def changes(
    context: typer.Context,
    conversation: ConversationOrLatestArgument = LATEST,
    since: Since = None,
    field: Annotated[
        str | None,
        typer.Option(
            "--field", metavar="PATH", help="Only this field: messages, branches.main, title, participants, ..."
        ),
    ] = None,
    cause: Annotated[
        str | None,
        typer.Option("--cause", metavar="CAUSE", help="Only changes by: user, agent, system, remote or agent:NAME"),
    ] = None,
    operation: Annotated[
        str | None,
        typer.Option("--operation", "--op", metavar="OP", help="Only these: CREATE, APPEND, UPDATE, DELETE or MERGE"),
    ] = None,
    branch: Annotated[
        str | None,
        typer.Option(
            "--branch",
            "--version",
            metavar="BRANCH",
            help="Only the messages in the history of this branch, and its own changes",
        ),
    ] = None,
) -> int:
    """List every change of a conversation and its cause.

    Messages, branches, title, tags, the active branch, merge requests, decisions and accepted values (entities), as the
    history records them. What proposals, conflicts, collaborations and facts went through: scopes proposals show,
    conflicts show, collaborate status, facts log. A message that is added has no row of its branch, by whatever
    command. What undo, redo and rewind do is a row of the branch or of the field.

    The order is that of time, the oldest first: an operation has the time when it ran, a message its own, but none is
    before what it follows. Times are to the millisecond (see --json). The cause of what fetch, pull, clone or bundle
    import has brought is the remote (remote:origin): only messages say who wrote them.

    On a terminal a table in words; in a pipe one row each: time, field, operation, cause, value before and after as
    JSON, source.

    Examples:
      scopes changes conv-001
      scopes changes conv-001 --field branches --since yesterday
      scopes changes conv-001 --cause agent:reviewer --json
      scopes changes conv-001 --branch main --op APPEND
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    result = run_changes(
        repository, conversation, since=since, field=field, cause=cause, operation=operation, branch=branch
    )
    return invocation.show(result)
