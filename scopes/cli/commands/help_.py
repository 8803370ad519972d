"""`scopes help COMMAND`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.help import explain
from scopes.cli.invocation import Invocation
from scopes.cli.table import TABLE


def help_(
    context: typer.Context,
    command: Annotated[list[str] | None, typer.Argument(metavar="COMMAND", help="The command to explain")] = None,
    include_all: Annotated[
        bool, typer.Option("--all", "-a", help="All commands; of a command, its whole manual")
    ] = False,
) -> None:
    """Explain a command.

    `scopes help -a config` has the settings, environment variables, files and exit codes too. `scopes help schemas`
    lists the JSON Schemas of everything that --json prints.

    Examples:
      scopes help
      scopes help merge
      scopes help -a facts run
      scopes help --all
    """
    invocation: Invocation = context.obj
    explain(TABLE, command or [], invocation, include_all=include_all)
