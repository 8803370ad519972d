"""`scopes conv delete-branch`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import BranchArgument, ConversationArgument
from scopes.cli.invocation import Invocation
from scopes.conversation.delete import delete_branch as run_delete_branch


def delete_branch(
    context: typer.Context,
    conversation: ConversationArgument,
    branch: BranchArgument,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Delete it even if no other branch contains its messages")
    ] = False,
) -> int:
    """Delete a branch.

    It moves to the trash; `scopes undo` restores it. The branch main and the active branch cannot be deleted.

    Examples:
      scopes conv delete-branch conv-001 analysis/security-review
      scopes conv delete-branch conv-001 try-sqlite --force
    """
    invocation: Invocation = context.obj
    return invocation.show(run_delete_branch(invocation.repository(), conversation, branch, force=force))
