"""`scopes delete`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import ConversationArgument
from scopes.cli.invocation import Invocation
from scopes.conversation.new_rename_delete import delete as run_delete


def delete(
    context: typer.Context,
    conversation: ConversationArgument,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be deleted, and change nothing")] = False,
) -> int:
    """Delete a conversation.

    It moves to the trash with all its branches. `scopes undo` restores it, until `scopes gc --expire` empties the
    trash. `scopes list --deleted` lists the trash. The file that the hooks of Cursor kept of it goes with it, and comes
    back with it.

    Examples:
      scopes delete conv-001
      scopes delete conv-001 --dry-run
      scopes undo
      scopes list --deleted
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    if dry_run:
        return invocation.show(run_delete(repository, conversation, dry_run=True))
    from scopes.importers.deleted_journals import delete_with_journal as delete_with_journal_

    delete_with_journal = delete_with_journal_
    return invocation.show(delete_with_journal(repository, conversation, invocation.environ))
