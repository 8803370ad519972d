"""`scopes version`."""

from __future__ import annotations

import typer

from scopes.cli.invocation import Invocation
from scopes.cli.table import TABLE
from scopes.cli.version import print_version


def version(context: typer.Context) -> int:
    """Print the version.

    Examples:
      scopes version
      scopes --version
      scopes version --json
    """
    invocation: Invocation = context.obj
    return print_version(TABLE, [], invocation)
