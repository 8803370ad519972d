"""`scopes rename`."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from scopes.cli.arguments import ConversationOrBranchArgument, split_branch
from scopes.cli.invocation import Invocation
from scopes.conversation.new_rename_delete import rename_branch, rename_conversation, rename_title
from scopes.errors import Invalid


def rename(
    context: typer.Context,
    conversation: ConversationOrBranchArgument,
    new: Annotated[
        str | None,
        typer.Argument(metavar="[NEW]", help="The new id of the conversation, or the new name of the branch"),
    ] = None,
    branch: Annotated[str | None, typer.Option("--branch", metavar="BRANCH", help="Rename this branch")] = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Set the title; '' removes it")] = None,
) -> int:
    """Rename a conversation or a branch.

    Examples:
      scopes rename conv-001 --title "Login fails on Safari"
      scopes rename conv-001 login-bug
      scopes rename conv-001 --branch try-sqlite alternative/sqlite
      scopes rename conv-001/try-sqlite alternative/sqlite
    """
    invocation: Invocation = context.obj
    conversation, branch = split_branch(conversation, branch)
    if (new is None) == (title is None) or (title is not None and branch is not None):
        raise Invalid(
            "give exactly one of: a new id, --branch with a new name, or --title", hint="see: scopes help rename"
        )
    if title is not None:
        return invocation.show(rename_title(invocation.repository(), conversation, title))
    if branch is not None:
        return invocation.show(rename_branch(invocation.repository(), conversation, branch, new or ""))
    try:
        return invocation.show(rename_conversation(invocation.repository(), conversation, new or ""))
    except Invalid as error:
        title_hint = f"to set the title: {shlex.join(['scopes', 'rename', conversation, '--title', new or ''])}"
        error.hint = "\n".join(filter(None, (title_hint, error.hint)))
        raise
