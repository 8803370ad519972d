"""`scopes conv stats`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.stats import stats as collect


def stats(
    context: typer.Context,
    conversation: Annotated[
        str | None, typer.Argument(metavar="CONV", help="The conversation: its id or a unique start of it; none: all")
    ] = None,
) -> int:
    """Count messages, authors, tools, files and tokens.

    Over all branches, each message once, also where several conversations share it. Tokens are those that the model's
    provider counted, as an imported transcript recorded them. The time at work is that from each message to the answer
    or tool result that follows it. A call failed where its result is an error, or an exit code that is not 0: a search
    that found nothing too.

    Examples:
      scopes conv stats
      scopes conv stats conv-001
      scopes conv stats conv-001 --json
    """
    call: Invocation = context.obj
    return call.show(collect(call.repository(), conversation))
