"""What hooks start: import the session of a turn that an agent ended, and record commits of a project.

Whatever else fails, a turn that was imported stays recorded; what went wrong is in `hooks.log`.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

from scopes.cli.invocation import Invocation
from scopes.code_links.agent_environment import AgentSession, find_sessions
from scopes.code_links.git_hooks import NAME
from scopes.code_links.pending_commits import begin_taking
from scopes.code_links.record_commits import record_pending
from scopes.code_links.session_turn import find_last_turn, record_last_turn
from scopes.errors import CannotImport, NotFound, ScopesError
from scopes.history.sessions import ACP_RECORDER, HOOKS
from scopes.history.sources import SOURCES, read_source_record, source_key, with_last_path
from scopes.ids import Oid
from scopes.importers.discovery import find_session_file, find_sources, spool_stream
from scopes.importers.formats.base import Source
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.importers.results import Imported
from scopes.live.event_log import HOOK_LOG, EventLog
from scopes.live.hook_failures import list_failed_repositories, log_failed_turn
from scopes.live.hook_files import explain_format
from scopes.live.hook_inputs import HookTurn, read_turn
from scopes.live.live_import import Recorded, import_when_quiet
from scopes.live.source_lock import source_lock
from scopes.live.turn_order import TurnOrder
from scopes.store.projects import ReflogEnd, Worktree, find_worktree
from scopes.store.repository import Repository

_END = "SessionEnd"  # the event of all agents that report the end of a session
_COMMIT_SECONDS = 3  # the longest that a commit waits for its trailer
_SPOOL = "acp-spool"  # as in scopes.server.acp.spool, which is loaded only if there is something


def record_turn(  # noqa: PLR0917 - what the agent gave, and what was seen while it waited
    target: str,
    store: str | None,
    data: bytes,
    environ: Mapping[str, str],
    stop: ReflogEnd | None = None,
    order: TurnOrder | None = None,
) -> int:
    """Record the turn that the input of a hook names; the outcome goes into the log.

    stop: where the reflog of the project ended when the agent called the hook: a commit since is one by a person
    order: the place of the turn among those of other sessions, which wait until this one is imported

    Raises:
        ScopesError, OSError: the turn could not be read.
    """
    invocation = Invocation(["hooks", "run", target], environ)
    turn = read_turn(target, data, invocation.environ, invocation.home)
    _enter(turn.cwd)
    invocation.store = store
    invocation.actor = HOOKS
    log = EventLog(invocation.state_directory, file_name=HOOK_LOG, target=target, session=turn.session)
    locks = os.path.join(invocation.state_directory, "hooks")
    order = order or TurnOrder(locks, target.encode())
    names = invocation.store_path, *(turn.paths[:1] or (turn.session,))
    with source_lock(locks, *names, on_wait=order.release) as is_ours:
        if not is_ours:
            return 0  # the process that waits will read this turn too
        order.wait()
        try:
            recorded = _import_turn(invocation, turn, order)
        except (ScopesError, OSError) as error:
            log_failed_turn(log, explain_format(target, turn.paths, error), turn.paths)
            return 0
        log.write(
            "recorded" if recorded.messages else "unchanged",
            conversations=list(recorded.conversations),
            messages=recorded.messages,
            store=invocation.store_path,
        )
        if turn.cwd is not None and (recorded.messages or turn.event != _END):  # else the commits are from after it
            try:
                _record_commits(invocation, target, turn.session, turn.cwd, stop)
            except (ScopesError, OSError) as error:
                log.write("commits-not-recorded", error=str(error))
        try:
            take_waiting(invocation)
        except (ScopesError, OSError) as error:
            log.write("spool-failed", error=str(error))
    return 0


def _enter(directory: str | None) -> None:
    """Change to the directory of the session, from which the store follows.

    If it cannot be entered, such as a worktree that the agent has deleted, the current one stays; if that is gone too,
    the nearest directory around the session is taken, which is in the same project.
    """
    with suppress(OSError, ValueError):  # ValueError: half of a surrogate pair
        if directory is not None:
            os.chdir(directory)
            return
    with suppress(OSError):
        os.getcwd()
        return
    while directory is not None and not os.path.isdir(directory):
        directory = os.path.dirname(directory)
    os.chdir(directory or os.sep)


def _import_turn(invocation: Invocation, turn: HookTurn, order: TurnOrder) -> Recorded:
    """Import the session; one that ends without a file has had no message, which is not a failure.

    The next turn waits for the first import only: later ones have what the agent writes after the end of the turn.
    """
    if turn.exported is not None:
        source = spool_stream(io.BytesIO(turn.exported), f"{turn.session}.json")
        return import_when_quiet((), lambda _: _import_sources(invocation, [source], order))
    if turn.event == _END and not any(map(os.path.exists, turn.paths)):
        return Recorded((), 0)
    return import_when_quiet(turn.paths, lambda paths: _import_files(invocation, paths, order))


def _import_files(invocation: Invocation, paths: Sequence[str], order: TurnOrder) -> Imported:
    """Import files; those of sub-agents may be missing, the first one not."""
    sources: list[Source] = []
    for path in paths:
        try:
            sources += find_sources(path)
        except (NotFound, CannotImport):
            if path == paths[0]:
                raise
    return _import_sources(invocation, sources, order)


def _import_sources(invocation: Invocation, sources: Sequence[Source], order: TurnOrder) -> Imported:
    repository = invocation.open_again(create=True)
    imported = import_sources(repository, sources, FORMATS, index_directory=invocation.index_directory)
    order.release()
    return imported


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
    log = _git_log(invocation, worktree)
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
                _git_log(invocation, worktree).write("recorded", store=invocation.store_path)


def _record_commits(invocation: Invocation, tool: str, session: str, directory: str, stop: ReflogEnd | None) -> None:
    """Record the commits that were made in a directory in the last turn of a session, which was just imported.

    `stop` is where the reflog ended when the agent called the hook.

    Raises:
        ScopesError, OSError: they could not be recorded.
    """
    worktree = find_worktree(directory)
    if worktree is not None:
        repository = invocation.open_again(create=True)
        if record_pending(repository, worktree) is not None:
            _git_log(invocation, worktree).write("recorded")
        record_last_turn(repository, tool, session, directory, stop)


def _git_log(invocation: Invocation, worktree: Worktree) -> EventLog:
    return EventLog(invocation.state_directory, file_name=HOOK_LOG, target=NAME, repository=worktree.shared)


def print_turn(store: str | None, environ: Mapping[str, str]) -> int:
    """Print the id of the prompt in the session that the environment names, for the trailer `Scopes-Turn` of a commit.

    The prompt of a running turn is only in the files of the agent, so they are imported first. Nothing is printed if it
    is not known, or not in time.

    Raises:
        ScopesError, OSError: the session cannot be read or imported.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_COMMIT_SECONDS)
    sessions = find_sessions(environ)
    if len(sessions) != 1 or sessions[0].session is None:
        return 0
    invocation = Invocation(["hooks", "run", "git-turn"], environ)
    invocation.store = store
    repository = invocation.repository(create=True)
    path = _find_file(invocation, repository, sessions[0])
    if path is not None:
        import_sources(repository, find_sources(path), FORMATS, index_directory=invocation.index_directory)
    turn = find_last_turn(repository, sessions[0].tool, sessions[0].session)
    if turn:
        sys.stdout.write(f"{turn[0].head.id}\n")
        sys.stdout.flush()
    return 0


def _find_file(invocation: Invocation, repository: Repository, agent: AgentSession) -> str | None:
    """Return the file of a session: where it was when it was imported, or where its agent keeps it."""
    value = repository.find_ref(SOURCES + source_key(agent.tool, agent.session or "", None))
    if value is not None:
        path = with_last_path(repository, read_source_record(repository, Oid(value))).path
        with suppress(NotFound):
            if path and find_sources(path):
                return path
    return find_session_file(FORMATS, agent.tool, agent.session or "", invocation.environ, invocation.home)


def take_waiting(invocation: Invocation) -> int:
    """Take what `scopes acp` could not write before it was killed into the store; return how many messages.

    Raises:
        ScopesError, OSError: they cannot be read or written, and wait on.
    """
    try:
        if not os.listdir(os.path.join(invocation.state_directory, _SPOOL)):
            return 0
        repository = invocation.open_again(create=False, actor=ACP_RECORDER)
    except (FileNotFoundError, NotFound):
        return 0
    from scopes.server.acp.take_spool import take_spooled

    log = EventLog(invocation.state_directory, store=os.path.realpath(repository.path))
    return take_spooled(invocation.state_directory, repository, log)
