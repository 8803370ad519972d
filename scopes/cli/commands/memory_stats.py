"""`scopes memory stats`."""

from __future__ import annotations

import typer

from scopes.cli.invocation import Invocation
from scopes.memory.stats import stats


def memory_stats(
    context: typer.Context,
) -> int:
    """Count what is remembered: by whom, since when.

    Examples:
      scopes memory stats
      scopes memory stats --json
    """
    call: Invocation = context.obj
    return call.show(stats(call.repository()))
