"""`scopes conflicts resolve`."""

from __future__ import annotations

import typer

from scopes.cli.arguments import AuthorKind, AuthorName, Conflict, Conversation
from scopes.cli.deciding import Edit, Reason, Take, Value, decide
from scopes.cli.invocation import Invocation


def conflicts_resolve(
    context: typer.Context,
    conversation: Conversation,
    conflict: Conflict,
    take: Take = None,
    value: Value = None,
    edit: Edit = False,
    reason: Reason = "",
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Decide a conflict.

    Take what one side says, both, or what was there before; or say something else. The decision is a message on the
    branch of the conflict, with who, why, and what was rejected. When none is left, continue the merge.

    Examples:
      scopes conflicts resolve conv-001 1 --take source --reason "measured twice"
      scopes conflicts resolve conv-001 1 --value "PostgreSQL for both"
      scopes conflicts resolve conv-001 1 --edit
      scopes conv merge conv-001 --continue
    """
    call: Invocation = context.obj
    return decide(
        call,
        conversation,
        conflict,
        take=take,
        value=value,
        edit=edit,
        reason=reason,
        author=author,
        author_kind=author_kind,
    )
