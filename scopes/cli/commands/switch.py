"""`scopes conv switch`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.switch import switch as make_active


def switch(
    context: typer.Context,
    conversation: Annotated[str, typer.Argument(metavar="CONV", help="The conversation: its id or a unique start of it")],
    branch: Annotated[str, typer.Argument(metavar="BRANCH", help="The branch")],
) -> int:
    """Make another branch the active one.

    The active branch is the one that append, log and branch mean when none is named.

    Examples:
      scopes conv switch conv-001 main
      scopes conv switch conv-001 analysis/security-review
    """
    call: Invocation = context.obj
    return call.show(make_active(call.repository(), conversation, branch))
