"""`scopes conv show`."""

from __future__ import annotations

from typing import Annotated, Literal

from scopes.cli import usage
from scopes.cli.arguments import LATEST, ScopeOrLatestArgument, names_revision
from scopes.cli.invocation import Invocation
from scopes.conversation.show import RECENT, read_drawing
from scopes.conversation.show import show as run_show
from scopes.errors import NotFound
from scopes.render.mermaid_view import as_mermaid


def show(
    context: usage.Context,
    where: ScopeOrLatestArgument = LATEST,
    form: Annotated[
        Literal["text", "mermaid"] | None,
        usage.Option("--format", metavar="FORM", help="text, or mermaid for a gitGraph"),
    ] = None,
    recent: Annotated[
        int, usage.Option("--recent", "-n", min=0, metavar="N", help="Number of recent messages")
    ] = RECENT,
    include_hidden: Annotated[
        bool, usage.Option("--all", "--abandoned", help="Include abandoned branches and those of ended conflicts")
    ] = False,
) -> int:
    """Show participants, branches and recent activity.

    Also project, models, time span, tokens of the last context (recorded with its answer, or an estimate marked ~), the
    UUID and the id of the imported session. CONV/BRANCH shows one branch. The message count of a branch starts at its
    fork point; the total is added where it differs.

    Examples:
      scopes show
      scopes conv show conv-001/main
      scopes conv show conv-001 --format mermaid > branches.mmd
      scopes conv show conv-001 --json
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    try:
        view = run_show(repository, where, recent=recent, include_hidden=include_hidden)
    except NotFound as error:
        if "/" in where or not names_revision(repository, where):
            raise
        raise NotFound(f"{where!a} is a message, not a conversation", hint=f"print it: scopes cat {where}") from error
    if form == "mermaid":
        return invocation.show(as_mermaid(view, read_drawing(repository, view)))
    return invocation.show(view)
