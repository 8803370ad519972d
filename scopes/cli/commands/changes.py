"""`scopes conv changes`."""

from __future__ import annotations

from typing import Annotated

from scopes.cli import usage
from scopes.cli.arguments import LATEST, ConversationOrLatestArgument, Since
from scopes.cli.invocation import Invocation
from scopes.conversation.changes import changes as run_changes


def changes(
    context: usage.Context,
    conversation: ConversationOrLatestArgument = LATEST,
    since: Since = None,
    field: Annotated[
        str | None,
        usage.Option(
            "--field", metavar="PATH", help="Only this field: messages, branches.main, title, participants, ..."
        ),
    ] = None,
    cause: Annotated[
        str | None, usage.Option("--cause", metavar="CAUSE", help="Only changes by: user, agent, system or agent:NAME")
    ] = None,
    operation: Annotated[
        str | None,
        usage.Option("--operation", "--op", metavar="OP", help="Only these: CREATE, APPEND, UPDATE, DELETE or MERGE"),
    ] = None,
    branch: Annotated[
        str | None,
        usage.Option(
            "--branch",
            "--version",
            metavar="BRANCH",
            help="Only the messages in the history of this branch, and its own changes",
        ),
    ] = None,
) -> int:
    """List every change of a conversation and its cause.

    Oldest first: messages, branches, title, tags, the active branch, proposals and accepted values (entities),
    decisions, facts, inboxes and collaborations, as the history records them. On a terminal a table in words; in a pipe
    one row each: time, field, operation, cause, value before and after as JSON, source.

    Examples:
      scopes conv changes conv-001
      scopes conv changes conv-001 --field branches --since yesterday
      scopes conv changes conv-001 --cause agent:reviewer --json
      scopes conv changes conv-001 --branch main --op APPEND
    """
    invocation: Invocation = context.obj
    result = run_changes(
        invocation.repository(), conversation, since=since, field=field, cause=cause, operation=operation, branch=branch
    )
    return invocation.show(result)
