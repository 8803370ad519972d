"""`scopes conflicts list`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import AuthorKind, AuthorName, Conflict, Conversation, NulRows, Template, author_of
from scopes.cli.invocation import Invocation
from scopes.cli.resolve_input import Edit, Reason, Take, Value, decide
from scopes.conversation.conflicts import list_conflicts, show_conflict
from scopes.conversation.resolve_conflict import escalate_conflict


def conflicts_list(
    context: typer.Context,
    conversation: Annotated[
        str | None, typer.Argument(metavar="[CONV]", help="The conversation; all of them if not given")
    ] = None,
    status: Annotated[
        str | None, typer.Option("--status", metavar="STATUS", help="Only those: open, debate, escalated or resolved")
    ] = None,
    every: Annotated[bool, typer.Option("--all", "-a", help="Also what is resolved and not yet continued")] = False,
    nul: NulRows = False,
    template: Template = None,
) -> int:
    """List what branches disagree on.

    A conflict is open, under debate once somebody talks on its branch, escalated, or resolved.

    Examples:
      scopes conflicts list
      scopes conflicts list conv-001 --status escalated
      scopes conflicts list conv-001 --all --json
    """
    call: Invocation = context.obj
    found = list_conflicts(call.repository(), conversation, status=status, every=every)
    return call.show(found, nul=nul, template=template)


def conflicts_show(context: typer.Context, conversation: Conversation, conflict: Conflict) -> int:
    """Show both sides of a conflict.

    What each side says, who said it, how sure they are, in which message; what was there before, and what has been said
    on the branch since.

    Examples:
      scopes conflicts show conv-001 1
      scopes conflicts show conv-001 3f2a --json
    """
    call: Invocation = context.obj
    return call.show(show_conflict(call.repository(), conversation, conflict))


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
