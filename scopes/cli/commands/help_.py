"""`scopes help COMMAND`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.help import explain, format_reference, terminal_width
from scopes.cli.invocation import Invocation
from scopes.cli.table import TABLE


def help_(
    context: typer.Context,
    command: Annotated[list[str] | None, typer.Argument(metavar="COMMAND", help="The command to explain")] = None,
    include_all: Annotated[bool, typer.Option("--all", help="Add exit codes, environment variables and files")] = False,
) -> None:
    """Explain a command.

    Without a command, all commands are listed. `scopes help append` is short for `scopes help conv append`.

    Examples:
      scopes help
      scopes help append
      scopes help config set
      scopes help --all
    """
    invocation: Invocation = context.obj
    explain(TABLE, command or [], invocation)
    if include_all:
        invocation.stdout.write(format_reference(terminal_width(invocation.environ)))
