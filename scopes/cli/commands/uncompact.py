"""`scopes uncompact`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import AuthorKind, AuthorName, ConversationOrBranchArgument, author_of
from scopes.cli.invocation import Invocation
from scopes.memory.uncompact import uncompact as run_uncompact


def uncompact(
    context: typer.Context,
    conversation: ConversationOrBranchArgument,
    last: Annotated[bool, typer.Option("--last", help="Only the last compaction, not those before it")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the compactions; change nothing")] = False,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for those who read it later")] = "",
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Make contexts start from the full history again.

    Takes back what `scopes compact`, or the compaction of an imported session, does to contexts: they start at the
    first message again, or with --last at the compaction before. The compactions stay in the history, each with a
    notice that retracts it, and new summaries are not made of them. `scopes undo` restores them.

    Examples:
      scopes uncompact conv-001
      scopes uncompact conv-001/main --last --reason "it forgot the schema"
      scopes uncompact conv-001 --dry-run
    """
    invocation: Invocation = context.obj
    return invocation.show(
        run_uncompact(
            invocation.repository(),
            conversation,
            reason=reason,
            author=author_of(invocation, author, author_kind),
            only_last=last,
            dry_run=dry_run,
        )
    )
