"""`scopes verify`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.verify import verify as check
from scopes.importers.formats.registry import FORMATS
from scopes.importers.verify_source import verify_source


def verify(
    context: typer.Context,
    source: Annotated[
        str | None, typer.Option("--source", metavar="FILE", help="Instead: that all of this transcript is here")
    ] = None,
) -> int:
    """Check every object, ref and operation, or a transcript.

    Names every defect with the message it concerns, changes nothing, and ends with 7 when data is damaged.

    With --source, compares a transcript on disk with what was imported of it, and accounts for every byte: it became
    part of a message, a state record, or is kept unread. Says where the two part when the file has changed since. Ends
    with 0 when all of the file is here, with 1 when it has bytes that are not, and with 4 when it was never imported.

    Examples:
      scopes verify
      scopes verify --json
      scopes verify --source ~/.claude/projects/-home-carol-shop/7c1e.jsonl
      scopes verify --source rollout.jsonl.zst --json
    """
    call: Invocation = context.obj
    repository = call.repository()
    return call.show(check(repository) if source is None else verify_source(repository, source, FORMATS))
