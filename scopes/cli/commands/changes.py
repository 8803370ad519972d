"""`scopes conv changes`."""

from __future__ import annotations

from typing import Annotated

from scopes.cli import usage
from scopes.cli.arguments import LATEST, ConversationOrLatestArgument, Since
from scopes.cli.invocation import Invocation
from scopes.conversation.changes import changes as run_changes
from scopes.conversation.changes import registry_changes
from scopes.errors import Invalid


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
        str | None,
        usage.Option("--cause", metavar="CAUSE", help="Only changes by: user, agent, system, remote or agent:NAME"),
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
    registry: Annotated[
        bool,
        usage.Option("--registry", help="Of no conversation: registered agents (agents) and context keys"),
    ] = False,
) -> int:
    """List every change of a conversation and its cause.

    Messages, branches, title, tags, the active branch, merge requests, proposals and accepted values (entities),
    decisions, facts, inboxes and collaborations, as the history records them; what undo, redo and rewind take back or
    restore has rows too. A message that is added has no row of its branch, by whatever command. Agents and context
    keys belong to no conversation: see --registry. A conversation has rows of an agent only where they come with a
    change of its inbox.

    The order is that in which changes were recorded, the oldest first, and no time is before that of the row above.
    Times are those of recording, to the millisecond (see --json). A message has its own time, unless it was recorded
    later than that; an imported one was recorded by its program. The cause of what fetch, pull, clone or bundle import
    has brought is the remote (remote:origin): only messages say who wrote them.

    On a terminal a table in words; in a pipe one row each: time, field, operation, cause, value before and after as
    JSON, source.

    Examples:
      scopes conv changes conv-001
      scopes conv changes conv-001 --field branches --since yesterday
      scopes conv changes conv-001 --cause agent:reviewer --json
      scopes conv changes conv-001 --branch main --op APPEND
      scopes conv changes conv-001 --field inbox.reviewer
      scopes conv changes --registry
      scopes conv changes --registry --field agents.reviewer --json
    """
    invocation: Invocation = context.obj
    if registry and (conversation != LATEST or branch is not None):
        hint = "leave out the conversation and --branch, or --registry"
        raise Invalid("the registry belongs to no conversation", hint=hint)
    repository = invocation.repository()
    if registry:
        result = registry_changes(repository, since=since, field=field, cause=cause, operation=operation)
    else:
        result = run_changes(
            repository, conversation, since=since, field=field, cause=cause, operation=operation, branch=branch
        )
    return invocation.show(result)
