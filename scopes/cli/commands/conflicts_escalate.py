"""`scopes conflicts escalate`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import AuthorKind, AuthorName, Conflict, Conversation
from scopes.cli.authorship import author_of
from scopes.cli.deciding import Reason
from scopes.cli.invocation import Invocation
from scopes.conversation.resolve_conflict import escalate_conflict


def conflicts_escalate(
    context: typer.Context,
    conversation: Conversation,
    conflict: Conflict,
    to: Annotated[str, typer.Option("--to", metavar="NAME", help="Who is to decide")],
    reason: Reason = "",
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Hand a conflict to somebody who is to decide it.

    Examples:
      scopes conflicts escalate conv-001 1 --to carol --reason "it concerns the budget"
    """
    call: Invocation = context.obj
    repository = call.repository()
    who = author_of(call, author, author_kind)
    done = escalate_conflict(
        repository, conversation, conflict, to=to, reason=reason, author=who.name, author_kind=who.kind
    )
    return call.show(done)
