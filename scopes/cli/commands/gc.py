"""`scopes gc`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.clock import now_nanoseconds, parse_date
from scopes.conversation.store import gc as run_gc


def gc(
    context: typer.Context,
    expire: Annotated[
        str | None,
        typer.Option("--expire", metavar="WHEN", help="Also delete trash and operations older than this"),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be packed and deleted, and change nothing")
    ] = False,
) -> int:
    """Pack the store and delete what has expired.

    Everything that can be undone is kept, unless --expire is given: then operations before that time can no longer be
    undone, and what they deleted is removed from disk two weeks later. The search index and cached contexts, which may
    contain text of it, are deleted at once and rebuilt when needed.

    Examples:
      scopes gc
      scopes gc --expire '90 days ago' --dry-run
      scopes gc --expire '90 days ago'
    """
    invocation: Invocation = context.obj
    if dry_run:
        return invocation.show(run_gc(invocation.repository(), expire_before=expire, dry_run=True))
    if expire is not None:
        parse_date(expire, now_nanoseconds())  # before the question
        invocation.confirm(f"delete everything that was moved to the trash before {expire}?")
    caches = (invocation.index_directory, os.path.join(invocation.cache_directory, "contexts"))
    repository = invocation.repository()
    from scopes.importers.deleted_journals import list_trash, remove_expired

    before = list_trash(repository, invocation.environ)
    result = run_gc(repository, expire_before=expire, caches=caches)
    remove_expired(before - list_trash(repository, invocation.environ), invocation.environ)
    return invocation.show(result)
