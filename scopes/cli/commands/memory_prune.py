"""`scopes memory prune`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.memory.prune import prune


def memory_prune(
    context: typer.Context,
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="WHEN", help="What is older: '90 days ago', 2026-01-31, ...")
    ] = None,
    most: Annotated[int | None, typer.Option("--max", metavar="N", help="All but the newest N")] = None,
    keep_importance: Annotated[
        int | None, typer.Option("--keep-importance", metavar="N", help="Never what is at least so important")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be forgotten, and forget nothing")] = False,
) -> int:
    """Forget old entries; conversations stay as they are.

    Examples:
      scopes memory prune --older-than "90 days ago" --keep-importance 7
      scopes memory prune --max 500 --dry-run
    """
    call: Invocation = context.obj
    done = prune(call.repository(), older_than=older_than, most=most, keep_importance=keep_importance, dry_run=dry_run)
    return call.show(done)
