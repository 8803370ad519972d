"""`scopes undo`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.api.undo import follow_undo
from scopes.cli.arguments import AnyActor, OfConversation
from scopes.cli.invocation import Invocation
from scopes.conversation.undo import undo as run_undo


def undo(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[OPERATION|CONV]",
            help="The operation: a unique prefix of its id (default: your last one); or a conversation",
        ),
    ] = None,
    conversation: OfConversation = None,
    any_actor: AnyActor = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be undone, and change nothing")] = False,
) -> int:
    """Undo your last command: an append or any operation.

    Every command that changes a conversation can be undone: append, branch, rewind, rename, delete, merge, import, ...
    Undo takes back the newest thing that you did, and never what somebody else did, or what hooks, scopes watch and
    scopes acp recorded, unless you name the operation or give --any-actor. Who you are is the setting scopes.author, or
    else git's user.name; the actors of those are hooks, watch and acp. All messages of one append are taken back
    together, if they are still the last ones of their branch, and so are all operations of one command. Repeat undo to
    go further back; redo reverts an undo. Facts, agents and inboxes go back whatever others have changed since in other
    places; if what the operation changed was changed again, undo refuses and names the operation to undo first.

    Examples:
      scopes undo
      scopes undo --dry-run
      scopes undo conv-001
      scopes conv operations list
      scopes undo k3x9
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    undone = run_undo(repository, name, conversation=conversation, any_actor=any_actor, dry_run=dry_run)
    return invocation.show(follow_undo(repository, undone, invocation.environ))
