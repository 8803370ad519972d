"""`scopes rewind`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import ConversationOrBranchArgument, OnBranch
from scopes.cli.invocation import Invocation
from scopes.conversation.branch import rewind as run_rewind


def rewind(
    context: typer.Context,
    conversation: ConversationOrBranchArgument,
    to: Annotated[
        str | None, typer.Option("--to", metavar="MESSAGE", help="The message that becomes the last one")
    ] = None,
    count: Annotated[
        int | None, typer.Option("-n", metavar="N", help="Number of messages to remove from the end (default: 1)")
    ] = None,
    branch: OnBranch = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the messages that would be removed, and change nothing")
    ] = False,
) -> int:
    """Move a branch back to an earlier message.

    -n counts the messages as `scopes log -n` shows them. The messages that a merge brought are removed together
    with the merge, or not at all. `scopes undo` restores the branch.

    Examples:
      scopes rewind conv-001
      scopes rewind conv-001/main -n 3
      scopes rewind conv-001/main -n 3 --dry-run
      scopes rewind conv-001 --to before-refactoring
    """
    invocation: Invocation = context.obj
    return invocation.show(
        run_rewind(invocation.repository(), conversation, branch=branch, to=to, count=count, dry_run=dry_run)
    )
