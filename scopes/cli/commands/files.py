"""`scopes files`."""

from __future__ import annotations

import os
import shlex

import typer

from scopes.cli.arguments import LATEST, ScopeOrLatestArgument
from scopes.cli.invocation import Invocation
from scopes.conversation.stats import files as run_files
from scopes.errors import NotFound


def files(context: typer.Context, where: ScopeOrLatestArgument = LATEST) -> int:
    """List the files that a conversation touched.

    For each file how often it was read, changed or mentioned, when last and by which agent; the most recently touched
    file first. All branches count unless one is named; `blame` looks at one branch. On a terminal paths are relative to
    the project.

    Examples:
      scopes files
      scopes files conv-001/main
      scopes files conv-001 --json
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    try:
        return invocation.show(run_files(repository, where))
    except NotFound as error:
        if "." not in os.path.basename(where):
            raise
        search, blame = shlex.join(["scopes", "search", f"file:{where}"]), shlex.join(["scopes", "blame", where])
        hint = f"to find who touched it: {search}, or {blame}"
        raise NotFound(f"{where!a} is a file, and no conversation", hint=hint) from error
