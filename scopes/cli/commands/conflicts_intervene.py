"""`scopes conflicts intervene`."""

from __future__ import annotations

import typer

from scopes.cli.arguments import AuthorKind, AuthorName, Conflict, Conversation
from scopes.cli.deciding import Edit, Reason, Take, Value, decide
from scopes.cli.invocation import Invocation


def conflicts_intervene(
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
    """Decide a conflict over the heads of those who disagree.

    As resolve, and recorded as an intervention, which needs a reason.

    Examples:
      scopes conflicts intervene conv-001 1 --take target --reason "the audit is next week"
      scopes conflicts intervene conv-001 1 --value "wait for the audit" --reason "nobody is sure"
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
        intervening=True,
    )
