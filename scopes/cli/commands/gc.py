"""`scopes gc`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.cli.token_options import cache_directory
from scopes.conversation.gc import gc as collect


def gc(
    context: typer.Context,
    expire: Annotated[
        str | None,
        typer.Option("--expire", metavar="WHEN", help="Also let go of what was deleted before then"),
    ] = None,
) -> int:
    """Pack the store and drop what expired.

    Nothing that can still be undone is dropped, unless --expire says so: then operations before that moment can no
    longer be undone, and what they deleted goes two weeks later. The search index and kept contexts, which may hold
    words of it, go at once and are made anew when they are needed.

    Examples:
      scopes gc
      scopes gc --expire '90 days ago'
    """
    call: Invocation = context.obj
    if expire is not None:
        call.confirm(f"let go of everything that was deleted before {expire}?")
    caches = (call.index_directory, os.path.join(cache_directory(call), "contexts"))
    return call.show(collect(call.repository(), expire_before=expire, caches=caches))
