"""What the hooks of git start: take over the commits that they have left, or print the message id for a trailer."""

from __future__ import annotations

from collections.abc import Mapping

from scopes.cli.invocation import Invocation
from scopes.code_links.record_commits import record_pending
from scopes.store.projects import find_worktree


def record_commits(store: str | None, environ: Mapping[str, str]) -> int:
    """Record the commits that hooks have left in the repository of the current directory; return 0.

    Raises:
        ScopesError, OSError: they could not be recorded; they stay for the next time.
    """
    invocation = Invocation(["hooks", "run", "git"], environ)
    invocation.store = store
    worktree = find_worktree(invocation.cwd)
    if worktree is not None:
        record_pending(invocation.repository(create=True), worktree)
    return 0
