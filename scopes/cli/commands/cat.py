"""`scopes conv cat`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.cat import cat as read


def cat(
    context: typer.Context,
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="An id, CONV/BRANCH~2, or a tag")],
    conversation: Annotated[
        str | None, typer.Option("--in", metavar="CONV", help="Look in this conversation only")
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="The stored line of JSON, exactly")] = False,
) -> int:
    """Print one message.

    Without a place, every conversation is searched for the id.

    Examples:
      scopes conv cat k3x9
      scopes conv cat conv-001/main~2
      scopes conv cat k3x9 --raw | python -m json.tool
    """
    call: Invocation = context.obj
    return call.show(read(call.repository(), message, conversation=conversation, raw=raw))
