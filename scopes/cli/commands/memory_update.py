"""`scopes memory update`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.memory.update import update


def memory_update(
    context: typer.Context,
    conversation: Annotated[
        str | None, typer.Argument(metavar="[CONV]", help="The conversation, or one of its branches; all if not given")
    ] = None,
    at_once: Annotated[bool, typer.Option("--now", help="Also where only little is new")] = False,
) -> int:
    """Remember what is new in conversations.

    An entry is made of what the last one of the branch did not cover, once scopes.memoryEvery messages (4) are new: a
    summary, topics, decisions, things to do, and how important it seems. It works offline and without a model.

    Examples:
      scopes memory update
      scopes memory update conv-001 --now
      scopes ai memory update conv-001/main --json
    """
    call: Invocation = context.obj
    return call.show(update(call.repository(), conversation, at_once=at_once))
