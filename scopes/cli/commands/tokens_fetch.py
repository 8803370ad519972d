"""`scopes tokens fetch`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.counting import token_places
from scopes.cli.download import download
from scopes.cli.invocation import Invocation
from scopes.context.encodings import DEFAULT_ENCODING
from scopes.context.fetch import fetch_ranks


def tokens_fetch(
    context: typer.Context,
    encoding: Annotated[
        str, typer.Argument(metavar="[ENCODING]", help="The encoding: o200k_base or cl100k_base")
    ] = DEFAULT_ENCODING,
) -> int:
    """Download what exact counts need.

    This is the only command that downloads token data, and the data is checked against a known hash. Nothing else of
    scopes goes to the network for it.

    Examples:
      scopes tokens fetch
      scopes tokens fetch cl100k_base
    """
    call: Invocation = context.obj
    return call.show(fetch_ranks(token_places(call), encoding, download))
