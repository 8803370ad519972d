"""`scopes conv new`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.new_rename_delete import new as run_new
from scopes.errors import Invalid


def new(
    context: typer.Context,
    text: Annotated[str | None, typer.Argument(metavar="TITLE", help="The title, as with --title")] = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="The title")] = None,
    conversation_id: Annotated[
        str | None, typer.Option("--id", metavar="NAME", help="The id (default: the next conv-NNN)")
    ] = None,
    participants: Annotated[
        list[str] | None, typer.Option("--participant", metavar="NAME", help="An agent or person that takes part")
    ] = None,
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="PROJECT", help="A directory of the project (default: the current one)"),
    ] = None,
) -> int:
    """Start a conversation.

    The conversation has a branch main and no messages, and belongs to the project of the current directory or of
    --project. The store is created if there never was one.

    Examples:
      scopes new "Login fails on Safari"
      scopes conv new --title "Login fails on Safari"
      scopes conv new --project ~/work/shop
      scopes conv new --id login-bug --participant planner --participant reviewer
      id=$(scopes conv new)
    """
    invocation: Invocation = context.obj
    if text is not None and title is not None:
        raise Invalid("the title is given twice", hint="leave out TITLE or --title")
    title = text if title is None else title
    if title is not None and not title.strip():
        raise Invalid("the title is empty", hint='give one: scopes new "Login fails", or leave it out')
    invocation.ask_name()
    return invocation.show(
        run_new(
            invocation.repository(create=True),
            conversation_id=conversation_id,
            title=title,
            participants=participants or (),
            directory=os.path.abspath(os.path.expanduser(project or os.curdir)),
        )
    )
