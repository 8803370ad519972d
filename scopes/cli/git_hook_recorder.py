"""What the hooks of git start: take over the commits that they have left, or print the message id for a trailer."""

from __future__ import annotations

from collections.abc import Mapping

from scopes.cli.invocation import Invocation
from scopes.code_links.record_commits import ACTOR, record_pending
from scopes.store.projects import find_worktree
from scopes.store.repository import Caller


def record_commits(store: str | None, environ: Mapping[str, str]) -> int:
    """Record the commits that hooks have left in the repository of the current directory; return 0.

    Raises:
        ScopesError, OSError: they could not be recorded; they stay for the next time.
    """
    invocation = Invocation(["hooks", "run", "git"], environ)
    invocation.store = store
    worktree = find_worktree(invocation.cwd)
    if worktree is not None:
        repository = invocation.repository(create=True)
        repository.caller = Caller(ACTOR, "scopes hooks run git")
        record_pending(repository, worktree)
    return 0
