"""`scopes conflicts list`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import NulRows, Template
from scopes.cli.invocation import Invocation
from scopes.conversation.conflicts import list_conflicts


def conflicts_list(
    context: typer.Context,
    conversation: Annotated[
        str | None, typer.Argument(metavar="[CONV]", help="The conversation; all of them if not given")
    ] = None,
    status: Annotated[
        str | None, typer.Option("--status", metavar="STATUS", help="Only those: open, debate, escalated or resolved")
    ] = None,
    every: Annotated[bool, typer.Option("--all", "-a", help="Also what is resolved and not yet continued")] = False,
    nul: NulRows = False,
    template: Template = None,
) -> int:
    """List what branches disagree on.

    A conflict is open, under debate once somebody talks on its branch, escalated, or resolved.

    Examples:
      scopes conflicts list
      scopes conflicts list conv-001 --status escalated
      scopes conflicts list conv-001 --all --json
    """
    call: Invocation = context.obj
    found = list_conflicts(call.repository(), conversation, status=status, every=every)
    return call.show(found, nul=nul, template=template)
