"""`scopes version`."""

from __future__ import annotations

from scopes.cli import usage
from scopes.cli.invocation import Invocation
from scopes.cli.table import TABLE
from scopes.cli.version import print_version


def version(context: usage.Context) -> int:
    """Print the version.

    Examples:
      scopes version
      scopes --version
      scopes version --json
    """
    invocation: Invocation = context.obj
    return print_version(TABLE, [], invocation)
