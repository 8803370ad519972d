"""`scopes blame`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import LATEST, find_conversation
from scopes.cli.invocation import Invocation
from scopes.conversation.changes import blame as run_blame
from scopes.errors import Invalid


def blame(
    context: typer.Context,
    where: Annotated[
        str | None,
        typer.Argument(
            metavar="CONV[/BRANCH]|FILE", help="The conversation (default: the latest) or a branch; or the file alone"
        ),
    ] = None,
    path: Annotated[str | None, typer.Argument(metavar="FILE", help="A file, as with --file")] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="GROUP/NAME", help="A key of the state: decisions/auth, methods")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", metavar="FILE", help="The file, relative to the project")
    ] = None,
) -> int:
    """Show which message made a decision or wrote a file.

    Looks at one branch (default: the active one), while `files` lists those of all branches. Follows merges and rebases
    back to the original message, and a tool's result to its call. Give a file or --key; the end of a path is enough if
    only one file has it.

    Examples:
      scopes blame conv-001 --key decisions/auth
      scopes blame conv-001/main --key decisions
      scopes blame conv-001 src/app.py
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    if where is not None and path is None and key is None and file is None and not find_conversation(repository, where):
        where, path = None, where
    if path is not None and file is not None:
        raise Invalid("the file is given twice", hint="leave out FILE or --file")
    return invocation.show(run_blame(repository, where or LATEST, key=key, file=file or path))
