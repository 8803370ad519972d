"""`scopes conv show`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from scopes.cli.arguments import Conversation
from scopes.cli.invocation import Invocation
from scopes.conversation.show import RECENT
from scopes.conversation.show import show as describe
from scopes.render.mermaid_view import as_mermaid


def show(
    context: typer.Context,
    conversation: Conversation,
    form: Annotated[
        Literal["text", "mermaid"] | None,
        typer.Option("--format", metavar="FORM", help="text, or mermaid (a gitGraph)"),
    ] = None,
    recent: Annotated[int, typer.Option("--recent", "-n", min=0, metavar="N", help="How many last messages")] = RECENT,
    abandoned: Annotated[bool, typer.Option("--abandoned", help="Also show abandoned branches")] = False,
) -> int:
    """Show participants, branches and recent activity.

    A branch's number of messages counts its own since it began; the total follows where it differs.

    Examples:
      scopes conv show conv-001
      scopes conv show conv-001 --format mermaid > branches.mmd
      scopes conv show conv-001 --json
    """
    call: Invocation = context.obj
    view = describe(
        call.repository(), conversation, recent=recent, abandoned=abandoned, without_subject=form == "mermaid"
    )
    return call.show(as_mermaid(view) if form == "mermaid" else view)
