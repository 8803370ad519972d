"""Record commits of a project: those that hooks of git have left, and those of a turn that an agent ended."""

from __future__ import annotations

from collections.abc import Mapping

from scopes.cli.invocation import Invocation
from scopes.code_links.record_commits import record_pending
from scopes.code_links.session_turn import record_last_turn
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


def record_commits_of_turn(invocation: Invocation, tool: str, session: str, directory: str) -> None:
    """Record the commits that were made in a directory in the last turn of a session, which was just imported.

    Raises:
        ScopesError, OSError: they could not be recorded.
    """
    worktree = find_worktree(directory)
    if worktree is not None:
        repository = invocation.open_again(create=True)
        record_pending(repository, worktree)
        record_last_turn(repository, tool, session, directory)
