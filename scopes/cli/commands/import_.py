"""`scopes conv import`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.import_sample import import_sample
from scopes.errors import Invalid


def import_(
    context: typer.Context,
    sample: Annotated[bool, typer.Option("--sample", help="A made-up conversation of three agents")] = False,
) -> int:
    """Bring in conversations.

    The sample is three agents on one task, with branches, typed messages and files, so that every command has
    something to show. Bringing it in again changes nothing.

    Examples:
      scopes conv import --sample
      scopes conv list
      scopes conv log conv-001 --all --graph
    """
    call: Invocation = context.obj
    if not sample:
        raise Invalid("name what to bring in", hint="this version brings in its sample: scopes conv import --sample")
    return call.show(import_sample(call.repository(create=True)))
