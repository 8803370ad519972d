"""Continue the conversation of an agent and a directory when an editor opens a new session (S3-1 to S3-10).

The ways, in this order, each only if the agent offers it: resume, load, and a new session whose first prompt begins
with the recorded history. A user who asks for a fork gets session/fork or such a new session, on a branch of its own:
the session that is forked stays as it is. The editor needs to know nothing of this: it asks for a new session and
gets one. A way that fails, or takes too long, is logged, and the next one is taken. A session that another proxy has
is not continued: the new one is a session of its own, or a fork if the user has named what to continue.
"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Mapping
from shlex import quote
from typing import Any, Final

from scopes.errors import NotFound, ScopesError
from scopes.history.handles import StoreHandle
from scopes.history.sessions import is_followed
from scopes.live.event_log import EventLog
from scopes.result import Note
from scopes.server.acp import envelope
from scopes.server.acp.injection import Injections
from scopes.server.acp.live_sessions import Holder, LiveSessions
from scopes.server.acp.options import WAY_SECONDS, BuildHistory, ContinueOptions, RecordingTarget
from scopes.server.acp.peers import Peers
from scopes.server.acp.pending import PendingStart, Request
from scopes.server.acp.recorder import Recorder, SessionStart, agent_name
from scopes.server.acp.recordings import (
    Identity,
    RecordedBranch,
    find_named,
    find_newest,
    identity_of,
    list_sessions,
    names_of,
)
from scopes.server.acp.replay import is_repeated
from scopes.server.acp.session_turns import update_of
from scopes.store.repository import Repository

_METHODS: Final = {
    "fork": "session/fork", "resume": "session/resume", "load": "session/load",
}  # fmt: skip

_WAYS = ("fork", "resume", "load", "list")


class Continuations:
    """Decides for each line whether it is passed on, changed, or answered here."""

    def __init__(
        self,
        peers: Peers,
        recorder: Recorder,
        log: EventLog,
        live: LiveSessions,
        *,
        target: RecordingTarget,
        options: ContinueOptions,
        build_history: BuildHistory,
        note: Callable[[Note], None],
    ) -> None:
        self._live = live
        self._note = note
        self._peers = peers
        self._recorder = recorder
        self._log = log
        self._target = target
        self._options = options
        self._build_history = build_history
        self.agent = target.agent or target.program
        self._capabilities: Mapping[str, Any] = {}
        self._first_session_taken = options.which == "never"
        self._lock = threading.Lock()
        self._new: dict[str, PendingStart] = {}  # new sessions that the agent was asked for, by the editor's request
        self._injections = Injections(recorder, log)
        self._replays: dict[str, list[tuple[bytes, dict[str, Any]]]] = {}  # held back, by session
        self._fork_replay: list[tuple[bytes, dict[str, Any]]] | None = None  # while we wait for a fork
        self._named: set[str] = set()  # sessions that the editor has named
        self._known: set[str] = set()  # sessions that the editor has been told of
        self._starting = 0
        self._waiting: list[tuple[bytes, dict[str, Any]]] = []  # for a session that is not ready

    # --- the two directions

    def handle_editor(self, line: bytes, message: dict[str, Any]) -> bytes | None:
        """Return the line to pass on to the agent; None if it is answered here."""
        method, named = envelope.method_of(message), envelope.session_of(message)
        if named is not None:
            self._named.add(named)
        if method == "session/new" and envelope.is_request(message) and self._takes_next_session():
            self._begin_start(lambda: self._start(PendingStart(line, message)))
            return None
        if self._must_wait(line, message):
            return None
        return self._injections.with_history(line, message)

    def _must_wait(self, line: bytes, message: dict[str, Any]) -> bool:
        """Hold back what is for a session that is not ready (S3-19); it is passed on once, in its order."""
        session = envelope.session_of(message)
        with self._lock:
            waits = session is not None and session not in self._known and bool(self._starting or self._waiting)
            if waits:
                self._waiting.append((line, message))
        return waits

    def _begin_start(self, start: Callable[[], None]) -> None:
        """Open a session in the extra thread; what is for a session that is not known waits until `_end_start`."""
        with self._lock:
            self._starting += 1
        self._peers.run_in_worker(start)

    def _end_start(self, session: str | None) -> None:
        """Pass on what has waited for a session; None if it could not be opened."""
        with self._lock:
            if session is not None:
                self._known.add(session)
            self._starting -= 1
        self._peers.run_in_worker(self._pass_on_waiting)

    def _pass_on_waiting(self) -> None:
        while True:
            with self._lock:
                if self._starting or not self._waiting:
                    return
                line, message = self._waiting[0]
            changed = self._injections.with_history(line, message)
            self._recorder.observe("editor", message)
            self._peers.agent.write(changed)
            with self._lock:
                del self._waiting[0]

    def handle_agent(self, line: bytes, message: dict[str, Any]) -> bytes | None:
        """Return the line to pass on to the editor; None if it is for us, or held back."""
        if self._peers.take_own_answer(message):
            return None
        session = envelope.session_of(message) if envelope.method_of(message) == "session/update" else None
        if session is not None:
            if session in self._replays:
                self._replays[session].append((line, message))
                return None
            if self._fork_replay is not None and session not in self._known | self._named:
                self._fork_replay.append((line, message))  # its id comes with the answer
                return None
            self._injections.note_update(session, message)
        return line

    def handle_answer(self, request: Request, message: dict[str, Any]) -> None:
        """Look at the answer to a request of the editor before it is passed on."""
        if "error" in message and (request.method == "initialize" or request.method in envelope.OPENING_METHODS):
            self._log_refusal(request.method, request.session, message)
        if request.method == "initialize":
            self.agent = self._target.agent or agent_name(message) or self.agent
            self._capabilities = _capabilities_of(message)
            version = (envelope.result_of(message) or {}).get("protocolVersion")
            self._log.set_fields(agent=self.agent)
            known = version if isinstance(version, int) else None
            self._log.write("initialize", ways=[way for way in _WAYS if self._offers(way)], protocol=known)
        elif request.method in envelope.OPENING_METHODS:
            self._opened(request, message)
        elif request.method == "session/prompt":
            self._injections.prompt_answered(request, message)

    def _log_refusal(self, method: str, session: str | None, answer: Mapping[str, Any]) -> None:
        """Log that the agent opens no session, such as one without a login: an editor may not show why (S3-18)."""
        code, text = envelope.error_code(answer), envelope.error_message(answer)
        self._log.write("refused", method=method, session=session, code=code, error=text or None)

    def _offers(self, way: str) -> bool:
        """Return True if the agent advertises a way to go on with a session (S3-2)."""
        return _is_offered(self._capabilities, way)

    # --- the start of a session; in the extra thread

    def _takes_next_session(self) -> bool:
        """Return True if the next new session is to be continued, and count it as the first one."""
        with self._lock:
            takes = not self._first_session_taken
            self._first_session_taken = self._options.which != "always"
        return takes

    def _start(self, start: PendingStart) -> None:
        try:
            self._prepare(start)
        except (ScopesError, OSError) as error:
            start.recorded = None
            self._log.write("continue-failed", error=str(error))
        finally:  # after a bug too: the editor waits for its session
            self._try_next(start)

    def _prepare(self, start: PendingStart) -> None:
        """Find what to continue, and the ways to do it; no recorded branch means a session of its own."""
        try:
            repository = self._target.open_store(False)
        except NotFound:
            if self._options.conversation is not None:
                raise
            return  # there is no store yet
        start.system_prompt = repository.config.find("scopes.systemPrompt")
        identity = identity_of(self.agent, start.params.get("cwd"))
        if self._options.conversation is None:
            start.recorded = find_newest(repository, identity)
        else:
            start.recorded = find_named(repository, self._options.conversation, identity)
            self._note_followed(repository, start.recorded)
        start.is_fork = self._options.fork
        if not start.is_fork:
            self._leave_live_session(repository, start, identity)
        if start.recorded is None:
            return
        if start.recorded.session is not None:
            wanted = ["fork"] if start.is_fork else ["resume", "load"]
            start.ways = [way for way in wanted if self._offers(way)]
            if start.is_fork and not start.ways:
                error = "the agent does not offer session/fork"
                start.failures.append({"way": "fork", "error": error})
                self._log.write("fork-not-offered", session=start.recorded.session, error=error)
        if self._options.inject != "never" and (self._options.inject == "always" or not start.ways):
            self._prepare_history(start)

    def _leave_live_session(self, repository: Repository, start: PendingStart, identity: Identity) -> None:
        """Continue no session that another proxy has: begin a new one, or a fork if the user has named it."""
        if start.recorded is None:
            return
        try:
            self._live.hold(repository.path, *names_of(repository, start.recorded))
        except Holder as holder:
            where = _name(start.recorded)
            other = f"another scopes acp (process {holder.process})" if holder.process else "another scopes acp"
            start.is_fork = self._options.conversation is not None
            self._log.write("session-live", where=where, process=holder.process or None, forked=start.is_fork)
            if start.is_fork:
                text, hint = f"this session goes on on a branch of its own: {other} has {where}", "end that one first"
                self._note(Note(text, f"{hint} to go on in the same session"))
            else:
                start.recorded = None
                hints = [f"to go on from that one, on a branch of its own: {_again(where, ' --fork')}"]
                free = self._find_free(repository, identity)
                if free is not None:
                    hints.insert(0, f"to go on with {free}, which is not open: {_again(free)}")
                self._note(Note(f"this is a new session: {other} has {where}", "\n".join(hints)))

    def _note_followed(self, repository: Repository, named: RecordedBranch) -> None:
        """Tell the user if the branch that was named is that of a session which is imported: it cannot go on there."""
        branch = StoreHandle(repository).conversation(named.conversation).branch(named.branch)
        if named.session is None and is_followed(branch, named.tip):
            where = _name(named)
            text = f"{where} is the branch of another session: what that says from now on goes to a branch import/..."
            begin = shlex.join(["scopes", "branch", named.conversation, "NAME", "--from", named.branch])
            hint = f"to go on beside it: {begin}, and then: {_again(f'{named.conversation}/NAME')}"
            self._note(Note(text, hint))

    def _find_free(self, repository: Repository, identity: Identity) -> str | None:
        """Return the newest branch with a session of an agent and a directory that no proxy has; None without one."""
        for recorded in list_sessions(repository, identity.agent, identity.cwd):
            if self._live.is_free(repository.path, *names_of(repository, recorded)):
                return _name(recorded)
        return None

    def _note_failure(
        self, start: PendingStart, way: str, session: str, error: str | None, code: int | None = None
    ) -> None:
        """Log that a way did not work, and keep it with the first message."""
        start.failures.append({"way": way, "error": error} if code is None else {"way": way, "code": code})
        self._log.write(f"{way}-failed", session=session, error=error, code=code)

    def _prepare_history(self, start: PendingStart) -> None:
        if start.recorded is not None and start.block is None and self._options.inject != "never":
            try:
                block = self._build_history(
                    self._target.open_store(False), f"{start.recorded.conversation}/{start.recorded.branch}"
                )
            except (ScopesError, OSError) as error:
                self._log.write("history-failed", error=str(error))
            else:
                start.block = block if block.messages else None

    def _try_next(self, start: PendingStart) -> None:
        """Take the next way; without one, ask the agent for a new session, with the editor's own words."""
        start.attempt += 1
        if not start.ways or start.recorded is None or start.recorded.session is None:
            self._prepare_history(start)
            self._ask_for_new(start)
            return
        way, attempt, session = start.ways.pop(0), start.attempt, start.recorded.session
        if way == "load":
            self._replays[session] = []
        elif way == "fork":
            self._fork_replay = []
        self._ask(start, way, attempt, {**start.params, "sessionId": session})

    def _ask(self, start: PendingStart, way: str, attempt: int, params: Mapping[str, Any]) -> None:
        self._peers.ask_agent(
            _METHODS[way],
            params,
            lambda answer: self._way_answered(start, way, attempt, answer),
            WAY_SECONDS,
        )

    def _ask_for_new(self, start: PendingStart) -> None:
        """Ask the agent for a new session, with the editor's own line."""
        with self._lock:
            self._new[envelope.key_of(start.message["id"])] = start
        self._peers.agent.write(start.line)

    def _way_answered(self, start: PendingStart, way: str, attempt: int, answer: dict[str, Any] | None) -> None:
        """Handle the answer to a resume, load or fork; None when its time is over."""
        recorded = start.recorded
        if recorded is None or recorded.session is None or attempt != start.attempt:
            return
        result = None if answer is None else envelope.result_of(answer)
        if result is not None:
            self._continued(start, way, recorded, result)
            return
        self._fork_replay = None
        code = None if answer is None else envelope.error_code(answer)
        if code == envelope.AUTHENTICATION_REQUIRED:
            error = (answer or {}).get("error")
            self._log_refusal(_METHODS[way], None, {"error": error})
            self._answer_with_error(start, error)
            return
        error = "took too long" if answer is None else envelope.error_message(answer)
        self._note_failure(start, way, recorded.session, error, code)
        self._peers.run_in_worker(lambda: self._try_next(start))

    def _continued(self, start: PendingStart, way: str, recorded: RecordedBranch, result: dict[str, Any]) -> None:
        """Answer the editor's request for a new session with the one that goes on."""
        given = result.get("sessionId")
        session = given if isinstance(given, str) else str(recorded.session)
        replayed, others = self._take_replayed(way, str(recorded.session), session)
        self._begin(start, way, session, recorded, result)
        if self._options.inject == "always":
            self._injections.arm(session, start.block, start.system_prompt)
        shown = {**result, "sessionId": session}
        self._peers.answer_editor(start.message, envelope.result_line(start.message["id"], shown))
        if way == "load" or replayed:
            self._recorder.compare(session, [message for _, message in replayed])
        for line, message in others:
            self._recorder.observe("agent", message)
            self._peers.editor.write(line)
        self._end_start(session)

    def _take_replayed(
        self, way: str, asked: str, opened: str
    ) -> tuple[list[tuple[bytes, dict[str, Any]]], list[tuple[bytes, dict[str, Any]]]]:
        """Return the held back updates that repeat a session, and the others: its commands, or of other sessions."""
        if way != "fork":
            return self._replays.pop(asked, []), []
        held, self._fork_replay = self._fork_replay or [], None
        replayed: list[tuple[bytes, dict[str, Any]]] = []
        others: list[tuple[bytes, dict[str, Any]]] = []
        for line, message in held:
            is_replay = envelope.session_of(message) == opened and is_repeated(update_of(message))
            (replayed if is_replay else others).append((line, message))
        return replayed, others

    def _begin(
        self, start: PendingStart, way: str, session: str, recorded: RecordedBranch | None, result: dict[str, Any]
    ) -> None:
        resumed = way != "new"
        notes: dict[str, Any] = {"start": way, "resumed": resumed}
        if start.failures:
            notes["failures"] = start.failures
        self._log.write("session", way=way, resumed=resumed, session=session, where=recorded and _name(recorded))
        cwd = start.params.get("cwd")
        directory = cwd if isinstance(cwd, str) else ""
        forked = None
        if recorded is not None and (way == "fork" or start.is_fork):
            forked = recorded.session or ""  # the branch of the user has none
        self._recorder.start_session(SessionStart(session, directory, recorded, result, notes, forked))

    def _answer_with_error(self, start: PendingStart, error: Any) -> None:
        """Pass an error on to the editor that it must handle; its next new session counts as the first one."""
        with self._lock:
            self._first_session_taken = False
        self._peers.answer_editor(start.message, envelope.encode_line({"id": start.message["id"], "error": error}))
        self._end_start(None)

    def _opened(self, request: Request, message: dict[str, Any]) -> None:
        """Look at the answer to a new session, or to one that the editor loads or resumes itself."""
        with self._lock:
            start = self._new.pop(envelope.key_of(request.id), None)
        result = envelope.result_of(message)
        session = None if result is None else result.get("sessionId", request.session)
        if start is None:
            if isinstance(session, str):
                self._known.add(session)
                way = request.method.removeprefix("session/")
                self._log.write("session", way=way, resumed=way != "new", session=session)
        elif result is None or not isinstance(session, str):
            with self._lock:
                self._first_session_taken = False
            self._end_start(None)
        else:
            self._replays.pop(session, None)
            self._begin(start, "new", session, start.recorded, result)
            self._injections.arm(session, start.block, start.system_prompt)
            self._end_start(session)


def _capabilities_of(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what an agent offers by its answer to `initialize`."""
    capabilities = (envelope.result_of(answer) or {}).get("agentCapabilities")
    return capabilities if isinstance(capabilities, dict) else {}


def _is_offered(capabilities: Mapping[str, Any], way: str) -> bool:
    """Return True if an agent offers a way to go on with a session (S3-2)."""
    if way == "load":
        return capabilities.get("loadSession") is True
    sessions = capabilities.get("sessionCapabilities")
    return isinstance(sessions, dict) and isinstance(sessions.get(way), dict)


def _again(conversation: str, options: str = "") -> str:
    return f"scopes acp --conversation {quote(conversation)}{options} -- AGENT"


def _name(recorded: RecordedBranch) -> str:
    return f"{recorded.conversation}/{recorded.branch}"
