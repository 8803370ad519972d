"""`scopes delete-branch`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import BranchArgument, ConversationOrBranchArgument, require_branch
from scopes.cli.invocation import Invocation
from scopes.conversation.new_rename_delete import delete_branch as run_delete_branch


def delete_branch(
    context: typer.Context,
    conversation: ConversationOrBranchArgument,
    branch: BranchArgument = None,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Delete it even if no other branch contains its messages")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be deleted, and change nothing")] = False,
) -> int:
    """Delete a branch.

    It moves to the trash; `scopes undo` restores it. The branch main and the active branch cannot be deleted.

    Examples:
      scopes delete-branch conv-001 analysis/security-review
      scopes delete-branch conv-001/try-sqlite --force --dry-run
      scopes delete-branch conv-001/try-sqlite --force
    """
    invocation: Invocation = context.obj
    conversation, branch = require_branch(conversation, branch)
    return invocation.show(
        run_delete_branch(invocation.repository(), conversation, branch, force=force, dry_run=dry_run)
    )
