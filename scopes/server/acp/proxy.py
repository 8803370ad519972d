"""Pass lines between an editor and an agent, unchanged, and hand what they say to the recorder.

A line goes to the recorder's queue, then to its reader; it is looked at only as far as routing needs. One thread reads
each side, so that a side that does not read holds up nobody but its own writer, as without a proxy. What must be
answered instead of passed on, because a session is continued, is decided in `continuation`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from scopes.errors import ScopesError
from scopes.live.event_log import EventLog
from scopes.result import Note, plural
from scopes.server.acp.agent_process import AgentProcess
from scopes.server.acp.continuation import Continuations
from scopes.server.acp.envelope import (
    INTERNAL_ERROR,
    NotJson,
    error_line,
    is_request,
    is_response,
    messages_of,
    read_line,
)
from scopes.server.acp.lines import LineWriter, read_lines
from scopes.server.acp.peers import Peers
from scopes.server.acp.recorder import Recorder

AGENT_GONE: Final = "the agent has ended"
NO_AGENT_CODE: Final = 1  # the exit code in place of the 0 of a program that never spoke the protocol
_LAST_RECORDS_SECONDS = 40.0  # for a store that another process has locked
_BUGS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)  # RecursionError too
_LAST_LINES_SECONDS = 2.0  # after the end of the agent, for what it wrote last


class Proxy:
    """One editor, one agent, and the threads between them."""

    def __init__(
        self,
        agent: AgentProcess,
        peers: Peers,
        continuations: Continuations,
        recorder: Recorder,
        log: EventLog,
        *,
        on_editor_end: Callable[[], None],
    ) -> None:
        self._on_editor_end = on_editor_end
        self._agent = agent
        self._peers = peers
        self._continuations = continuations
        self._recorder = recorder
        self._log = log
        self._was_used = False  # one side has sent a line
        self._has_answered = False  # the agent a request of the editor
        self._left_out = 0  # lines of the agent

    @property
    def no_agent(self) -> Note | None:
        """Why the program was no agent of an editor, once it has ended; None if it was one, or nobody used it."""
        if self._has_answered or not self._was_used:
            return None
        lines = f"; {self._left_out:,} {plural(self._left_out, 'line')} of it could not be passed on as messages"
        return Note(
            f"the program ended before it answered initialize, so nothing is recorded{lines if self._left_out else ''}",
            "it must speak the Agent Client Protocol (ACP) on its standard streams: check the command after --",
        )

    def run(self, stdin: int, max_line_bytes: int) -> int:
        """Run until the agent has ended; return its exit code."""
        agent = self._agent
        editor, peer = self._peers.editor, self._peers.agent
        from_agent = self._start("agent", lambda: self._pump(agent.stdout, max_line_bytes, self._from_agent, editor))
        self._start("editor", lambda: self._pump(stdin, max_line_bytes, self._from_editor, peer))
        recording = self._start("recorder", self._recorder.run)
        codes: list[int] = []
        ending = self._start("ending", lambda: codes.append(self._wait_for_end(from_agent)))
        ending.join()
        recording.join(_LAST_RECORDS_SECONDS)
        if recording.is_alive():
            self._log.write(
                "recording-off",
                error="the store stayed locked after the end of the agent",
                hint="the next start takes what is in the spool",
            )
        agent.kill_rest()
        code = codes[0] or (0 if self.no_agent is None else NO_AGENT_CODE)
        self._log.write("end", exit_code=code)
        return code

    def _start(self, name: str, run: Callable[[], object]) -> threading.Thread:
        thread = threading.Thread(target=run, name=f"acp {name}", daemon=True)
        thread.start()
        return thread

    def _pump(self, descriptor: int, max_line_bytes: int, handle: Callable[[bytes], None], out: LineWriter) -> None:
        """Handle lines until their end, and let the agent end then; a line that meets a bug is passed on as it is."""
        try:
            for line in read_lines(descriptor, max_line_bytes):
                try:
                    handle(line)
                except _BUGS as error:  # the peer gets the line all the same, and the next ones
                    self._log.write("bug", error=f"{type(error).__name__}: {error}")
                    out.write(line)
        except (ScopesError, OSError) as error:
            self._log.write("read-failed", error=str(error))
        finally:
            if handle == self._from_editor:
                self._on_editor_end()
            self._agent.end()

    def _from_editor(self, line: bytes) -> None:
        self._was_used = True
        try:
            document = read_line(line)
        except NotJson:
            document = None  # the agent says what is wrong with it
        else:
            self._note_unread(line, document)
        for message in messages_of(document):
            if is_request(message):
                self._peers.from_editor.add(message)
            elif is_response(message):
                self._peers.from_agent.take(message)
        if isinstance(document, dict):
            changed = self._continuations.handle_editor(line, document)
            if changed is None:
                return
            line = changed
        for message in messages_of(document):
            self._recorder.observe("editor", message)
        self._peers.agent.write(line)

    def _from_agent(self, line: bytes) -> None:
        self._was_used = True
        try:
            document = read_line(line)
        except NotJson:
            self._left_out += 1
            self._log.write("noise", bytes=len(line))
            return
        self._note_unread(line, document)
        if isinstance(document, dict):
            changed = self._continuations.handle_agent(line, document)
            if changed is None:
                return
            line = changed
        answers_prompt = False
        for message in messages_of(document):
            answers_prompt |= self._observe_agent(message)
        if answers_prompt:
            self._recorder.wait_until_recorded()
        self._peers.editor.write(line)

    def _note_unread(self, line: bytes, document: Any) -> None:
        """Log a message that is passed on, but is too deep to be recorded."""
        if document is None:
            self._log.write("unread", bytes=len(line))

    def _observe_agent(self, message: dict[str, Any]) -> bool:
        """Hand a message of the agent to the recorder; return True if it answers a prompt."""
        request = None
        if is_request(message):
            self._peers.from_agent.add(message)
        elif is_response(message):
            request = self._peers.from_editor.take(message)
            self._has_answered |= request is not None
            if request is not None:
                self._continuations.handle_answer(request, message)
        self._recorder.observe("agent", message)
        return request is not None and request.method == "session/prompt"

    def _wait_for_end(self, from_agent: threading.Thread) -> int:
        """Wait for the agent; then answer what it has not answered, before the editor sees the end."""
        code = self._agent.wait()
        from_agent.join(_LAST_LINES_SECONDS)
        self._recorder.stop()
        for request in self._peers.from_editor.take_all():
            self._peers.editor.write(error_line(request.id, INTERNAL_ERROR, AGENT_GONE))
        return code
