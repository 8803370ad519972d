"""`scopes init`."""

from __future__ import annotations

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.init import init as create


def init(context: typer.Context) -> int:
    """Make a store for the project at hand.

    Inside a git repository the store is made in its git directory, shared by all its worktrees, and every scopes
    command below the project uses it. --store makes one anywhere; elsewhere your own store is made.

    Examples:
      cd ~/src/shop && scopes init
      scopes --store /srv/agents/store.git init
    """
    call: Invocation = context.obj
    return call.show(create(call.new_store_path))
