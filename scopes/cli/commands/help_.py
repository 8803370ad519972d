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
        bool, typer.Option("--all", help="All commands, exit codes and files; of a command or group all of its manual")
    ] = False,
) -> None:
    """Explain a command.

    Without a command, the commands to start with are listed; with --all, all of them, exit codes, environment variables
    and files. Of a command or a group --all prints the further sections of manual pages too, such as the policy of
    `check` and the programs of `facts run`. `scopes help append` is short for `scopes help conv append`. With --json,
    the help of one command is printed as JSON. `scopes help schemas` lists the JSON Schemas of everything that --json
    prints, and `scopes help schemas KIND` prints one.

    Examples:
      scopes help
      scopes help append
      scopes help conv
      scopes help config set
      scopes help facts run --all
      scopes help merge --json
      scopes help schemas
      scopes help schemas conversation-list
      scopes help --all
    """
    invocation: Invocation = context.obj
    explain(TABLE, command or [], invocation, include_all=include_all)
