"""`scopes conv tag`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import Conversation
from scopes.cli.invocation import Invocation
from scopes.conversation.tag import delete_tag, list_tags
from scopes.conversation.tag import tag as set_tag


def tag(
    context: typer.Context,
    conversation: Conversation,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The tag")] = None,
    message: Annotated[
        str | None, typer.Argument(metavar="[MESSAGE]", help="The message; the active branch's last one if not given")
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", "-d", help="Take the tag away")] = False,
) -> int:
    """Tag a message, or list the tags.

    A tag is a name that does not move, and works wherever a message is named.

    Examples:
      scopes conv tag conv-001 before-refactoring
      scopes conv tag conv-001 good main~3
      scopes conv tag conv-001
      scopes conv tag conv-001 good --delete
    """
    call: Invocation = context.obj
    if name is None:
        return call.show(list_tags(call.repository(), conversation))
    if delete:
        return call.show(delete_tag(call.repository(), conversation, name))
    return call.show(set_tag(call.repository(), conversation, name, message))
