"""`scopes init`."""

from __future__ import annotations

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.store import init as run_init


def init(context: typer.Context) -> int:
    """Create a store for this project.

    Inside a git repository the store is created in its git directory: all worktrees share it, and every scopes command
    below the project uses it. Outside of one, your user store is created. --store creates one at any path.

    Examples:
      cd ~/src/shop && scopes init
      scopes --store /srv/agents/store.git init
    """
    invocation: Invocation = context.obj
    return invocation.show(run_init(invocation.new_store_path))
