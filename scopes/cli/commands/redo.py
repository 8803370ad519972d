"""`scopes redo`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.api.undo import follow_undo
from scopes.cli.arguments import AnyActor, OfConversation
from scopes.cli.invocation import Invocation
from scopes.conversation.undo import redo as run_redo


def redo(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="[CONV]", help="Only what was undone in this conversation")
    ] = None,
    conversation: OfConversation = None,
    any_actor: AnyActor = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be redone, and change nothing")] = False,
) -> int:
    """Redo what you undid last.

    After several undos, redo can be repeated. Any other operation of yours after an undo ends that, in whatever
    conversation. Appends do not end it: redo is refused only if one was on a branch that it would move.

    Examples:
      scopes undo
      scopes redo
      scopes redo conv-001
    """
    invocation: Invocation = context.obj
    limit = name if conversation is None else conversation
    repository = invocation.repository()
    redone = run_redo(repository, conversation=limit, any_actor=any_actor, dry_run=dry_run)
    return invocation.show(follow_undo(repository, redone, invocation.environ))
