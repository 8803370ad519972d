"""`scopes conv delete-branch`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import Branch, Conversation
from scopes.cli.invocation import Invocation
from scopes.conversation.delete import delete_branch as remove


def delete_branch(
    context: typer.Context,
    conversation: Conversation,
    branch: Branch,
    force: Annotated[bool, typer.Option("--force", "-f", help="Also when no other branch has its messages")] = False,
) -> int:
    """Delete a branch.

    It goes to the trash, and undo brings it back. The branch main and the active branch are not deleted.

    Examples:
      scopes conv delete-branch conv-001 analysis/security-review
      scopes conv delete-branch conv-001 try-sqlite --force
    """
    call: Invocation = context.obj
    return call.show(remove(call.repository(), conversation, branch, force=force))
