"""`scopes tokens status`."""

from __future__ import annotations

import typer

from scopes.cli.counting import token_places
from scopes.cli.invocation import Invocation
from scopes.context.status import tokens_status as look


def tokens_status(context: typer.Context) -> int:
    """Show which encodings can be counted exactly here.

    With every file that was found for them, the preferred first: tiktoken's cache (TIKTOKEN_CACHE_DIR), scopes' own,
    and packages that carry the data. A file whose hash is wrong is never used.

    Examples:
      scopes tokens status
      scopes tokens status --json
    """
    call: Invocation = context.obj
    return call.show(look(token_places(call)))
