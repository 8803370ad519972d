"""`scopes conv retract`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.authorship import author_of
from scopes.cli.invocation import Invocation
from scopes.conversation.amend import retract as take_back


def retract(
    context: typer.Context,
    conversation: Annotated[str, typer.Argument(metavar="CONV", help="The conversation: its id or a unique start of it")],
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="The message: an id, main~2, a tag")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why")] = "",
    author: Annotated[str | None, typer.Option("--as", metavar="NAME", help="Who says so")] = None,
    author_kind: Annotated[str | None, typer.Option("--author-kind", metavar="KIND", help="human, agent, ...")] = None,
    branch: Annotated[str | None, typer.Option("--branch", metavar="BRANCH", help="On which branch")] = None,
) -> int:
    """Mark a message as taken back.

    It stays in the history; a notice after it says that it does not count.

    Examples:
      scopes conv retract conv-001 k3x9 --reason "wrong file"
    """
    call: Invocation = context.obj
    repository = call.repository()
    who = author_of(call, author, author_kind)
    return call.show(
        take_back(repository, conversation, message, reason, author=who.name, author_kind=who.kind, branch=branch)
    )
