"""`scopes conv diff`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.diff import diff as compare
from scopes.render.view_options import ViewOptions


def diff(
    context: typer.Context,
    left: Annotated[str, typer.Argument(metavar="CONV", help="The conversation, or the first place to compare")],
    right: Annotated[
        str | None, typer.Argument(metavar="A..B", help="Two places in it, or the second place", show_default=False)
    ] = None,
    stat: Annotated[bool, typer.Option("--stat", help="Only count what differs")] = False,
) -> int:
    """Compare two branches, messages or conversations.

    Shown is what each side has alone, and what they say differently.
    Messages are compared by id and content, then the claims: decisions, proposals, findings, files. A...B begins at
    the merge base. The exit code is 0 when nothing differs and 1 when something does.

    Examples:
      scopes conv diff conv-001 main..analysis/security-review
      scopes conv diff conv-001 conv-002 --stat
      scopes conv diff conv-001 main~5..main
    """
    call: Invocation = context.obj
    return call.show(compare(call.repository(), left, right), options=ViewOptions(stat=stat))
