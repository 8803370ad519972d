"""Record commits of a project: those that hooks of git have left, and those of a turn that an agent ended."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from scopes.cli.invocation import Invocation
from scopes.code_links.git_hooks import NAME
from scopes.code_links.pending_commits import begin_taking
from scopes.code_links.record_commits import record_pending
from scopes.code_links.session_turn import record_last_turn
from scopes.errors import ScopesError
from scopes.live.event_log import HOOK_LOG, EventLog
from scopes.live.hook_failures import list_failed_repositories, log_failed_turn
from scopes.store.projects import ReflogEnd, Worktree, find_worktree


def record_commits(store: str | None, environ: Mapping[str, str]) -> int:
    """Record the commits that hooks have left in the repository of the current directory; return 0.

    The outcome goes into the log. Commits that could not be recorded stay for the next time.

    Raises:
        ScopesError, OSError: the repository cannot be found.
    """
    invocation = Invocation(["hooks", "run", "git"], environ)
    invocation.store = store
    worktree = find_worktree(invocation.cwd)
    if worktree is None:
        return 0
    log = _log_of(invocation, worktree)
    begin_taking(worktree)
    try:
        operation = record_pending(invocation.repository(create=True), worktree)
    except (ScopesError, OSError) as error:
        log_failed_turn(log, error, (), store=invocation.store_path)
        return 0
    log.write("unchanged" if operation is None else "recorded", store=invocation.store_path)
    return 0


def record_waiting_commits(invocation: Invocation) -> None:
    """Record the commits that hooks of git have left and could not record, such as while the store was away.

    What fails again stays for the next time.
    """
    for shared in list_failed_repositories(invocation.state_directory, NAME, invocation.store_path):
        directory = os.path.dirname(shared)
        found = (find_worktree(each) for each in (directory, invocation.cwd) if os.path.isdir(each))
        worktree = next((each for each in found if each is not None and each.shared == shared), None)
        if worktree is not None:
            with suppress(ScopesError, OSError):
                record_pending(invocation.open_again(create=False), worktree)
                _log_of(invocation, worktree).write("recorded", store=invocation.store_path)


def record_commits_of_turn(
    invocation: Invocation, tool: str, session: str, directory: str, stop: ReflogEnd | None
) -> None:
    """Record the commits that were made in a directory in the last turn of a session, which was just imported.

    `stop` is where the reflog ended when the agent called the hook.

    Raises:
        ScopesError, OSError: they could not be recorded.
    """
    worktree = find_worktree(directory)
    if worktree is not None:
        repository = invocation.open_again(create=True)
        if record_pending(repository, worktree) is not None:
            _log_of(invocation, worktree).write("recorded")
        record_last_turn(repository, tool, session, directory, stop)


def _log_of(invocation: Invocation, worktree: Worktree) -> EventLog:
    return EventLog(invocation.state_directory, file_name=HOOK_LOG, target=NAME, repository=worktree.shared)
