"""`scopes stats`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.stats import stats as run_stats


def stats(
    context: typer.Context,
    where: Annotated[
        str | None,
        typer.Argument(metavar="CONV[/BRANCH]", help="The conversation (default: all), or one branch of it"),
    ] = None,
) -> int:
    """Count messages, authors, tools, files and tokens.

    Counts all branches unless one is named; a message that several branches or conversations share counts once. Tokens
    are the provider's counts, as imported transcripts recorded them. Working time is the time between each message and
    the answer or tool result after it. A tool call failed if its result is an error or an exit code other than 0, such
    as a search without matches.

    Examples:
      scopes stats
      scopes stats conv-001
      scopes stats conv-001/main
      scopes stats conv-001 --json
    """
    invocation: Invocation = context.obj
    return invocation.show(run_stats(invocation.repository(), where))
