"""`scopes repair`."""

from __future__ import annotations

from typing import Annotated

from scopes.cli import usage
from scopes.cli.invocation import Invocation
from scopes.conversation.repair import repair as run_repair


def repair(
    context: usage.Context,
    dry_run: Annotated[bool, usage.Option("--dry-run", help="Only print what would be repaired")] = False,
) -> int:
    """Repair what verify finds, where nothing can be lost.

    Restores lost and damaged refs from the operation log and the reflogs, finishes an interrupted operation, removes
    files of dead processes, and rebuilds derived files. Damaged messages cannot be repaired; restore them from a backup
    or a clone. Replaced files are kept in the directory scopes-quarantine of the store.

    Then checks the store again and prints what is left. The exit code is 7 if data is still damaged.

    Examples:
      scopes repair --dry-run
      scopes repair
    """
    invocation: Invocation = context.obj
    return invocation.show(run_repair(invocation.repository(), dry_run=dry_run))
