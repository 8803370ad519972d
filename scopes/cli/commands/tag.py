"""`scopes tag`."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from scopes.cli.arguments import ConversationOrBranchArgument, split_branch
from scopes.cli.invocation import Invocation
from scopes.conversation.branch import TagList, delete_tag, list_tags
from scopes.conversation.branch import tag as run_tag
from scopes.errors import NotFound
from scopes.store.repository import Repository


def tag(
    context: typer.Context,
    conversation: ConversationOrBranchArgument,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The name of the tag")] = None,
    message: Annotated[
        str | None, typer.Argument(metavar="[MESSAGE]", help="The message (default: the last one of the branch)")
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", "-d", help="Delete the tag")] = False,
) -> int:
    """Tag a message, or list the tags.

    A tag is a fixed name for a message. It can be used wherever a message is named.

    Examples:
      scopes tag conv-001 before-refactoring
      scopes tag conv-001/analysis/security-review reviewed
      scopes tag conv-001 good main~3
      scopes tag conv-001
      scopes tag conv-001 good --delete
    """
    invocation: Invocation = context.obj
    conversation, branch = split_branch(conversation, None)
    if name is None:
        return invocation.show(_list_tags(invocation.repository(), conversation))
    if delete:
        return invocation.show(delete_tag(invocation.repository(), conversation, name))
    return invocation.show(run_tag(invocation.repository(), conversation, name, message, branch=branch))


def _list_tags(repository: Repository, conversation: str) -> TagList:
    """List the tags; a word that is not a conversation may be the name of a new tag, as in git."""
    try:
        return list_tags(repository, conversation)
    except NotFound as error:
        hint = f"to tag the last message of the latest conversation: scopes tag @ {quote(conversation)}"
        error.hint = hint if error.hint is None else f"{hint}\n{error.hint}"
        raise
