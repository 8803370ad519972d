"""The process that records a turn: import the files of the session into the store of its directory."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress

from scopes.cli.acp_spool import take_waiting
from scopes.cli.git_hook_recorder import record_commits_of_turn
from scopes.cli.invocation import Invocation
from scopes.errors import CannotImport, NotFound, ScopesError
from scopes.history.sessions import HOOKS
from scopes.importers.discovery import find_sources, spool_stream
from scopes.importers.formats.base import Source
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.importers.results import Imported
from scopes.live.event_log import HOOK_LOG, EventLog
from scopes.live.hook_failures import log_failed_turn
from scopes.live.hook_files import explain_format
from scopes.live.hook_inputs import HookTurn, read_turn
from scopes.live.live_import import Recorded, import_when_quiet
from scopes.live.source_lock import source_lock
from scopes.live.turn_order import TurnOrder
from scopes.store.projects import ReflogEnd

_END = "SessionEnd"  # the event of all agents that report the end of a session


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
            _record_commits(invocation, target, turn, turn.cwd, log, stop)
        _take_spooled(invocation, log)
    return 0


def _take_spooled(invocation: Invocation, log: EventLog) -> None:
    """Take what a killed proxy of `scopes acp` could not write; the turn is recorded whatever happens here."""
    try:
        take_waiting(invocation)
    except (ScopesError, OSError) as error:
        log.write("spool-failed", error=str(error))


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


def _record_commits(  # noqa: PLR0917 - what, where, up to where
    invocation: Invocation, target: str, turn: HookTurn, directory: str, log: EventLog, stop: ReflogEnd | None
) -> None:
    """Record the commits of the turn, which is recorded already whatever happens here."""
    try:
        record_commits_of_turn(invocation, target, turn.session, directory, stop)
    except (ScopesError, OSError) as error:
        log.write("commits-not-recorded", error=str(error))


def _import_turn(invocation: Invocation, turn: HookTurn, order: TurnOrder) -> Recorded:
    """Import the session; one that ends without a file has had no message, which is not a failure.

    The next turn waits for the first import only: later ones have what the agent writes after the end of the turn.
    """
    if turn.exported is not None:
        name = f"{turn.session}.json"
        source = spool_stream(io.BytesIO(turn.exported), name)
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
