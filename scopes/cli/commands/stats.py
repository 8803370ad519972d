"""`scopes conv stats`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.stats import stats as collect


def stats(context: typer.Context, conversation: Annotated[str, typer.Argument(metavar="CONV", help="The conversation: its id or a unique start of it")]) -> int:
    """Count messages, authors and kinds.

    Over all branches, each message once.

    Examples:
      scopes conv stats conv-001
      scopes conv stats conv-001 --json
    """
    call: Invocation = context.obj
    return call.show(collect(call.repository(), conversation))
