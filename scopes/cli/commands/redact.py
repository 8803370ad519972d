"""`scopes redact`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import ConversationArgument
from scopes.cli.invocation import Invocation
from scopes.purge.redact import redact as run_redact


def redact(
    context: typer.Context,
    conversation: ConversationArgument,
    name: Annotated[str | None, typer.Option("--id", metavar="NAME", help="The id of the copy")] = None,
) -> int:
    """Copy a conversation with its secrets masked.

    Creates a new conversation with all branches, tags and the title, in which every secret is replaced by a
    placeholder, also in the state and in the names of authors, branches and tags. The original is not changed: share
    the copy, and keep or purge the original. Messages with a secret get new ids in the copy. The mapping from old to
    new ids is stored on this machine only, in the ref that is printed; push does not send it. Secrets on the allow-list
    (scopes secrets allow) are not masked.

    The copy is independent: later imports extend the original, and another redact creates another copy.

    Examples:
      scopes redact conv-001
      scopes redact conv-001 --id conv-001-shared
    """
    invocation: Invocation = context.obj
    return invocation.show(run_redact(invocation.repository(), conversation, conversation_id=name))
