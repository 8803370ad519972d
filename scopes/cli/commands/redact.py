"""`scopes redact`."""

from __future__ import annotations

from typing import Annotated

from scopes.cli import usage
from scopes.cli.arguments import ConversationArgument
from scopes.cli.invocation import Invocation
from scopes.purge.redact import redact as run_redact


def redact(
    context: usage.Context,
    conversation: ConversationArgument,
    name: Annotated[str | None, usage.Option("--id", metavar="NAME", help="The id of the copy")] = None,
) -> int:
    """Copy a conversation with its secrets masked.

    Makes a new conversation with all branches, tags and the title, in which every secret is replaced by a placeholder,
    also in the state, and in the names of authors, branches and tags. The original stays as it is: share the copy, keep
    the original, or purge it. Messages with a secret get new ids in the copy; which commit and message became which is
    kept on this machine alone, in the ref that is printed, and no push sends it. What is on the allow-list of scopes
    secrets is not masked.

    The copy is another conversation: an import goes on in the original, and a later copy is made anew.

    Examples:
      scopes redact conv-001
      scopes redact conv-001 --id conv-001-shared
    """
    invocation: Invocation = context.obj
    return invocation.show(run_redact(invocation.repository(), conversation, conversation_id=name))
