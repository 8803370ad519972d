"""Connect the parts of a proxy, and run it. The agent is started before this is imported: both take their time."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

from scopes import fast_json
from scopes.live.event_log import EventLog
from scopes.result import Note
from scopes.server.acp.agent_process import AgentProcess
from scopes.server.acp.continuation import Continuations
from scopes.server.acp.left_in_spool import LeftInSpool
from scopes.server.acp.lines import LineWriter
from scopes.server.acp.live_sessions import LiveSessions
from scopes.server.acp.options import BuildHistory, Connection, ContinueOptions, RecordingTarget, RecordOptions
from scopes.server.acp.peers import Peers
from scopes.server.acp.proxy import Proxy
from scopes.server.acp.recorder import Recorder
from scopes.server.acp.unlogged import tell_unlogged

_LAST_TAKE_SECONDS = 10.0
SWITCH_SECONDS = 0.0002  # a line that is passed on waits at most so long for the recorder


def run_proxy(
    agent: AgentProcess,
    connection: Connection,
    *,
    target: RecordingTarget,
    build_history: BuildHistory,
    record: RecordOptions,
    options: ContinueOptions,
    note: Callable[[Note], None],
) -> int:
    """Run an agent behind a proxy until it ends; return its exit code. `note` gets what the user has to know."""
    fast_json.enable()
    sys.setswitchinterval(SWITCH_SECONDS)
    directory = connection.log_directory
    log = EventLog(directory, on_lost=tell_unlogged(directory, note), agent=target.agent or target.program)
    threading.excepthook = lambda failure: log.write("bug", error=f"{failure.exc_type.__name__}: {failure.exc_value}")
    log.write("start", program=target.program, command=target.command, store=os.path.realpath(target.store_path))
    peers = Peers(LineWriter(connection.stdout), agent.stdin)
    left = LeftInSpool(target, directory, log)
    live = LiveSessions(log)
    recorder = Recorder(target, record, log, left.take_before, live)
    continuations = Continuations(
        peers, recorder, log, live, target=target, options=options, build_history=build_history, note=note
    )
    peers.run_in_worker(left.take_now)
    peers.run_in_worker(left.tried.set)
    proxy = Proxy(agent, peers, continuations, recorder, log, on_editor_end=live.release_all)
    code = proxy.run(connection.stdin, connection.max_line_bytes)
    live.release_all()
    if proxy.no_agent is not None:
        note(proxy.no_agent)
    left.tried.wait(_LAST_TAKE_SECONDS)  # an agent that ends at once must not cut it off: the rest would wait on
    return code
