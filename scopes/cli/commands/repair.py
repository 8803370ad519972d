"""`scopes repair`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.commands.verify import MORE_CHECKS
from scopes.cli.invocation import Invocation
from scopes.conversation.verify import repair as run_repair
from scopes.store.verify import repair_unopened


def repair(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be repaired")] = False,
) -> int:
    """Repair what verify finds, where nothing can be lost.

    Restores lost and damaged refs from the operation log and the reflogs, finishes an interrupted operation, removes
    files of dead processes, and rebuilds derived files. Damaged messages cannot be repaired; restore them from a backup
    or a clone. Nor can agents, facts and proposed facts that cannot be read: they are left out of the lists, and their
    earlier versions are in the history of their ref. Replaced files are kept in the directory scopes-quarantine of the
    store.

    Then checks the store again and prints what is left, in a pipe on standard error. The exit code is 7 if data is
    still damaged.

    Examples:
      scopes repair --dry-run
      scopes repair
    """
    invocation: Invocation = context.obj
    before = () if dry_run else repair_unopened(invocation.store_path)
    return invocation.show(run_repair(invocation.repository(), MORE_CHECKS, dry_run=dry_run, before=before))
