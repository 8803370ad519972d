"""`scopes retention status` and `run`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.cli.places import places_of
from scopes.purge.retention import note_due, plan_retention, read_retention, run_retention
from scopes.render.progress import progress
from scopes.result import plural


def retention_status(context: typer.Context) -> int:
    """List conversations older than the rules keep them.

    A rule is a setting: scopes.retention.all.age applies to all conversations. scopes.retention.PROJECT.age applies to
    those of one project, by the name of its directory, and takes precedence. The age is the time since the last message
    or merge; a conversation whose last message has no time never expires. Nothing is removed automatically: scopes
    retention run does it, and asks for confirmation.

    Examples:
      scopes config scopes.retention.all.age '2 years'
      scopes config scopes.retention.webshop.age '90 days'
      scopes retention status
    """
    invocation: Invocation = context.obj
    return invocation.show(note_due(read_retention(invocation.repository())))


def retention_run(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would go, and change nothing")] = False,
) -> int:
    """Purge conversations older than the rules keep them.

    This is a scopes purge: it cannot be undone, the conversations are not imported again, and other stores and remotes
    are offered the same purge. In a terminal it lists the conversations first and asks for confirmation; scripts need
    --yes. If no conversation is due, a note says so, and the exit code is 0.

    Examples:
      scopes retention run --dry-run
      scopes retention run
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    is_shown = dry_run or (invocation.interactive and not invocation.yes)
    status = read_retention(repository)
    count = len(status.due)
    if is_shown or not count:
        status = plan_retention(repository, status, places_of(invocation))
    if dry_run or not count:
        return invocation.show(status)
    if is_shown:
        invocation.show(status)
    invocation.confirm(f"remove {count} {plural(count, 'conversation')} for good? This cannot be undone.")
    with progress(invocation.output(), "purging") as meter:
        return invocation.show(run_retention(repository, places_of(invocation), on_progress=lambda _: meter(1)))
