"""`scopes conv cat`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.cat import cat as run_cat
from scopes.conversation.cat import read_original
from scopes.errors import Invalid
from scopes.render.view_options import ViewOptions


def cat(
    context: typer.Context,
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="A message id, CONV/BRANCH~2 or a tag")],
    conversation: Annotated[
        str | None, typer.Option("--in", metavar="CONV", help="Search this conversation only")
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="The stored JSON, byte for byte")] = False,
    original: Annotated[
        bool, typer.Option("--original", help="The records that it was imported from, byte for byte")
    ] = False,
) -> int:
    """Print one message.

    Without --in, all conversations are searched for the id. A message that was retracted or amended later is marked.

    Examples:
      scopes conv cat k3x9
      scopes conv cat conv-001/main~2
      scopes conv cat k3x9 --raw | python -m json.tool
      scopes conv cat k3x9 --original
    """
    invocation: Invocation = context.obj
    if raw and original:
        raise Invalid("--raw and --original cannot be combined", hint="leave out one of them")
    if original:
        return invocation.show(read_original(invocation.repository(), message, conversation=conversation))
    return invocation.show(
        run_cat(invocation.repository(), message, conversation=conversation), options=ViewOptions(raw=raw)
    )
