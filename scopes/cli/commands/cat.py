"""`scopes cat`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import replace_head
from scopes.cli.invocation import Invocation
from scopes.conversation.show import cat as run_cat
from scopes.conversation.show import read_original
from scopes.errors import Invalid
from scopes.render.view_options import ViewOptions


def cat(
    context: typer.Context,
    message: Annotated[
        str,
        typer.Argument(
            metavar="MESSAGE|CONV", help="A message id, main~2, HEAD, CONV/BRANCH~2 or a tag; or its conversation"
        ),
    ],
    inside: Annotated[
        str | None,
        typer.Argument(
            metavar="[MESSAGE]", help="The message, after CONV; after CONV/BRANCH it must be on that branch"
        ),
    ] = None,
    conversation: Annotated[
        str | None, typer.Option("--in", metavar="CONV", help="Search this conversation only")
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="The stored JSON, byte for byte")] = False,
    original: Annotated[
        bool, typer.Option("--original", help="The records that the message was imported from, byte for byte")
    ] = False,
    show_signature: Annotated[
        bool, typer.Option("--show-signature", help="Check the signature of the message with git")
    ] = False,
) -> int:
    """Print one message.

    A branch or HEAD alone is one of the latest conversation. Without a conversation all are searched for an id; if
    several have it, after a cherry-pick, the latest one is read. A message that was retracted or amended later is
    marked. --show-signature adds what git says about its signature, as in log.

    Examples:
      scopes cat k3x9
      scopes cat main~2
      scopes cat conv-001/main~2
      scopes cat conv-001 k3x9
      scopes cat k3x9 --raw | python -m json.tool
      scopes cat k3x9 --original
    """
    invocation: Invocation = context.obj
    if inside is not None:
        if conversation is not None:
            raise Invalid("the conversation is given twice", hint="leave out CONV or --in")
        conversation, message = message, inside
    message = replace_head(message, conversation)
    exclusive = {"--raw": raw, "--original": original, "--show-signature": show_signature}
    given = [name for name, is_given in exclusive.items() if is_given]
    if len(given) > 1:
        raise Invalid(f"{' and '.join(given[:2])} cannot be combined", hint="leave out one of them")
    if original:
        return invocation.show(read_original(invocation.repository(), message, conversation=conversation))
    view = run_cat(invocation.repository(), message, conversation=conversation)
    if show_signature:
        from scopes.conversation.verify import with_signatures

        view = with_signatures(invocation.repository(), view, invocation.cwd)
    return invocation.show(view, options=ViewOptions(raw=raw, signatures=show_signature))
