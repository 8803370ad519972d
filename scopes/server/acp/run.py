"""Connect the parts of a proxy, and run it. The agent is started before this is imported: both take their time."""

from __future__ import annotations

import os
import sys
import threading

from scopes import fast_json
from scopes.errors import NotFound, ScopesError
from scopes.live.event_log import EventLog
from scopes.loading import load
from scopes.server.acp.agent_process import AgentProcess
from scopes.server.acp.continuation import Continuations
from scopes.server.acp.lines import LineWriter
from scopes.server.acp.options import BuildHistory, Connection, ContinueOptions, RecordingTarget, RecordOptions
from scopes.server.acp.peers import Peers
from scopes.server.acp.proxy import Proxy
from scopes.server.acp.recorder import Recorder
from scopes.server.acp.spool import list_spooled

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
) -> int:
    """Run an agent behind a proxy until it ends; return its exit code."""
    fast_json.enable()
    sys.setswitchinterval(SWITCH_SECONDS)
    log = EventLog(connection.log_directory, agent=target.agent or target.program)
    threading.excepthook = lambda failure: log.write("bug", error=f"{failure.exc_type.__name__}: {failure.exc_value}")
    log.write("start", program=target.program)
    peers = Peers(LineWriter(connection.stdout), agent.stdin)
    recorder = Recorder(target, record, log)
    continuations = Continuations(peers, recorder, log, target=target, options=options, build_history=build_history)
    taken = threading.Event()
    if list_spooled(connection.log_directory):
        peers.run_in_worker(lambda: _take_spooled(target, connection.log_directory, log))
    peers.run_in_worker(taken.set)
    code = Proxy(agent, peers, continuations, recorder, log).run(connection.stdin, connection.max_line_bytes)
    taken.wait(_LAST_TAKE_SECONDS)  # an agent that ends at once must not cut it off: the rest would wait on
    return code


def _take_spooled(target: RecordingTarget, state_directory: str, log: EventLog) -> None:
    """Take what an earlier proxy could not write, before a session continues; a failure is only logged.

    The store may not be there yet: that could have been the reason.
    """
    try:
        waiting = load("scopes.server.acp.take_spool:waiting_messages")(state_directory)
        is_wanted = os.path.realpath(target.store_path) in {each.store for each in waiting}
        load("scopes.server.acp.take_spool:take_spooled")(state_directory, target.open_store(is_wanted), log)
    except NotFound:
        return  # there is no store yet
    except (ScopesError, OSError) as error:
        log.write("spool-failed", error=str(error))
