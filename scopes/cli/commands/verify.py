"""`scopes verify`."""

from __future__ import annotations

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.verify import verify as check


def verify(context: typer.Context) -> int:
    """Check every object, ref and operation.

    Names every defect with the message it concerns, changes nothing, and ends with 7 when data is damaged.

    Examples:
      scopes verify
      scopes verify --json
    """
    call: Invocation = context.obj
    return call.show(check(call.repository()))
