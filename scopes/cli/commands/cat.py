"""`scopes conv cat`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.cat import cat as read
from scopes.conversation.cat import read_original
from scopes.errors import Invalid
from scopes.render.view_options import ViewOptions


def cat(
    context: typer.Context,
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="An id, CONV/BRANCH~2, or a tag")],
    conversation: Annotated[
        str | None, typer.Option("--in", metavar="CONV", help="Look in this conversation only")
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="The stored line of JSON, exactly")] = False,
    original: Annotated[
        bool, typer.Option("--original", help="The records that it was imported from, to the byte")
    ] = False,
) -> int:
    """Print one message.

    Without a place, every conversation is searched for the id.

    Examples:
      scopes conv cat k3x9
      scopes conv cat conv-001/main~2
      scopes conv cat k3x9 --raw | python -m json.tool
      scopes conv cat k3x9 --original
    """
    call: Invocation = context.obj
    if raw and original:
        raise Invalid("--raw and --original are two forms", hint="choose one of them")
    if original:
        return call.show(read_original(call.repository(), message, conversation=conversation))
    return call.show(read(call.repository(), message, conversation=conversation), options=ViewOptions(raw=raw))
