"""`scopes reproject`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.importers.formats.registry import FORMATS
from scopes.importers.reproject import reproject as run_reproject


def reproject(
    context: typer.Context,
    conversations: Annotated[
        list[str] | None, typer.Argument(metavar="[CONV]", help="Only these conversations (default: all)")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change; write nothing")] = False,
) -> int:
    """Read imported transcripts again with newer parsers.

    An import never changes how a message was read. If a newer version of scopes reads transcripts better, this reads
    the original bytes in the store again, the files are not needed. Conversations that are read as before stay as they
    are; a second run changes nothing.

    Where the new reading differs, the branches of the conversation move to it. Messages that were added here, merges,
    tags, forks, memory and facts follow: they name the new messages. The columns are the messages of the transcript
    now, those that changed, that have another id, that are new and that are gone, and the messages of others that were
    written again on top of them. The old history comes back with scopes undo; what became what is in
    refs/scopes/local/reprojected/.

    A file with several conversations is read as a whole. Sources of which messages were purged stay as they are.

    Examples:
      scopes reproject --dry-run
      scopes reproject conv-001
      scopes reproject conv-001 --json
      scopes undo
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    from scopes.render.progress import progress

    with progress(invocation.output(), "reading transcripts") as on_progress:
        result = run_reproject(
            repository, conversations or (), FORMATS, dry_run=dry_run, on_progress=lambda _size: on_progress(1)
        )
    return invocation.show(result)
