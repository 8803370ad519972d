"""Continue the conversation of an agent and a directory when an editor opens a new session (S3-1 to S3-10).

The ways, in this order, each only if the agent offers it: fork (on request), resume, load, and a new session whose
first prompt begins with the recorded history. The editor needs to know nothing of this: it asks for a new session and
gets one. A way that fails, or takes too long, is logged, and the next one is taken.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from scopes.context.history_block import HistoryBlock
from scopes.errors import NotFound, ScopesError
from scopes.server import envelope
from scopes.server.emulation import METHODS, Aliases, advertise, list_result, replay_lines
from scopes.server.event_log import EventLog
from scopes.server.injection import Injections
from scopes.server.options import BuildHistory, ContinueOptions, Source
from scopes.server.peers import Peers
from scopes.server.pending import Request
from scopes.server.recorder import Recorder, Started, agent_name
from scopes.server.recordings import Place, find_named, find_newest, find_session, identity_of

_METHODS: Final = {
    "fork": "session/fork", "resume": "session/resume", "load": "session/load", "new": "session/new",
}  # fmt: skip

_TOO_LATE: Final = {"code": envelope.INTERNAL_ERROR, "message": "the agent took too long to open a session"}
_WAYS = ("fork", "resume", "load", "list")
_OPENING = frozenset({"session/new", "session/load", "session/resume", "session/fork"})


@dataclass(slots=True)
class Start:
    """A session that an editor waits for, while a way to continue is tried.

    `session` is the editor's id of it, if the editor loads or resumes one that the agent cannot load or resume.
    """

    line: bytes
    message: dict[str, Any]
    session: str | None = None
    place: Place | None = None
    block: HistoryBlock | None = None
    ways: list[str] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    attempt: int = 0  # an answer to an earlier one is too late

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the editor's request."""
        return envelope.params_of(self.message)


class Continuations:
    """Decides for each line whether it is passed on, changed, or answered here."""

    def __init__(
        self,
        peers: Peers,
        recorder: Recorder,
        log: EventLog,
        *,
        source: Source,
        options: ContinueOptions,
        build_history: BuildHistory,
    ) -> None:
        self._peers = peers
        self._recorder = recorder
        self._log = log
        self._source = source
        self._options = options
        self._build_history = build_history
        self.agent = source.agent or source.program
        self._capabilities: Mapping[str, Any] = {}
        self._is_used = options.which == "never" and options.conversation is None
        self._lock = threading.Lock()
        self._new: dict[str, Start] = {}  # new sessions that the agent was asked for, by the editor's request
        self._injections = Injections(recorder, log, options.system_prompt)
        self._aliases = Aliases()
        self._initialize: str | None = None  # the request whose answer is changed
        self._replays: dict[str, list[tuple[bytes, dict[str, Any]]]] = {}  # held back, by session
        self._known: set[str] = set()  # sessions that the editor has been told of
        self._starting = 0
        self._waiting: list[tuple[bytes, dict[str, Any]]] = []  # for a session that is not ready

    # --- the two directions

    def handle_client(self, line: bytes, message: dict[str, Any]) -> bytes | None:
        """Return the line to pass on to the agent; None if it is answered here."""
        method = envelope.method_of(message)
        if method == "session/new" and envelope.is_request(message) and self._wants():
            with self._lock:
                self._starting += 1
            self._peers.later(lambda: self._start(Start(line, message)))
            return None
        if self._options.emulate and envelope.is_request(message) and self._emulates(line, message, method):
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

    def _ready(self, session: str | None) -> None:
        """A start has ended; pass on what has waited."""
        with self._lock:
            if session is not None:
                self._known.add(session)
            self._starting -= 1
        self._peers.later(self._pass_on_waiting)

    def _pass_on_waiting(self) -> None:
        while True:
            with self._lock:
                if self._starting or not self._waiting:
                    return
                line, message = self._waiting[0]
            line, message = self._aliases.to_agent(line, message)
            changed = self._injections.with_history(line, message)
            self._recorder.observe("client", message)
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
            self._injections.note_update(session, message)
        if self._initialize is not None and envelope.is_response(message):
            return self._advertise(line, message)
        return line

    def handle_answer(self, request: Request, message: dict[str, Any]) -> None:
        """Look at the answer to a request of the editor before it is passed on."""
        if "error" in message and (request.method == "initialize" or request.method in _OPENING):
            self._log_refusal(request.method, request.session, message)
        if request.method == "initialize":
            self.agent = self._source.agent or agent_name(message) or self.agent
            answer = envelope.result_of(message) or {}
            capabilities, version = answer.get("agentCapabilities"), answer.get("protocolVersion")
            self._capabilities = capabilities if isinstance(capabilities, dict) else {}
            self._log.set_fields(agent=self.agent)
            known = version if isinstance(version, int) else None
            self._log.write("initialize", ways=[way for way in _WAYS if self.offers(way)], protocol=known)
        elif request.method in _OPENING:
            self._opened(request, message)
        elif request.method == "session/prompt":
            self._injections.prompt_answered(request, message)

    def _log_refusal(self, method: str, session: str | None, answer: Mapping[str, Any]) -> None:
        """Log that the agent opens no session, such as one without a login: an editor may not show why (S3-18)."""
        code, text = envelope.error_code(answer), envelope.error_message(answer)
        self._log.write("refused", method=method, session=session, code=code, error=text or None)

    def offers(self, way: str) -> bool:
        """Return True if the agent advertises a way to go on with a session (S3-2)."""
        if way == "load":
            return self._capabilities.get("loadSession") is True
        sessions = self._capabilities.get("sessionCapabilities")
        return isinstance(sessions, dict) and isinstance(sessions.get(way), dict)

    def translate_client(self, line: bytes, message: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
        """Return a line of the editor with the agent's id of the session in it."""
        return self._aliases.to_agent(line, message)

    def translate_agent(self, line: bytes, message: dict[str, Any]) -> bytes:
        """Return a line of the agent with the editor's id of the session in it."""
        return self._aliases.to_editor(line, message)

    # --- sessions from the record

    def _advertise(self, line: bytes, message: dict[str, Any]) -> bytes:
        """Add what we do ourselves to what the agent offers."""
        if envelope.key_of(message["id"]) != self._initialize or envelope.result_of(message) is None:
            return line
        self._initialize = None
        capabilities = (envelope.result_of(message) or {}).get("agentCapabilities")
        self._capabilities = capabilities if isinstance(capabilities, dict) else {}
        try:
            return advertise(line, [way for way in METHODS.values() if not self.offers(way)])
        except (ValueError, KeyError):
            return line

    def _emulates(self, line: bytes, message: dict[str, Any], method: str) -> bool:
        """Return True if a request of the editor is answered from the record."""
        if method == "initialize":
            self._initialize = envelope.key_of(message["id"])
        if method not in METHODS or self.offers(METHODS[method]):
            return False
        if method == "session/list":
            self._peers.later(lambda: self._list(message))
        else:
            with self._lock:
                self._starting += 1
            self._peers.later(lambda: self._open_recorded(line, message, method))
        return True

    def _list(self, message: dict[str, Any]) -> None:
        try:
            result = list_result(self._source.open_store(False), self.agent, envelope.params_of(message))
        except (ScopesError, OSError) as error:
            self._log.write("list-failed", error=str(error))
            result = {"sessions": []}
        self._answer(message, envelope.result_line(message["id"], result))

    def _open_recorded(self, line: bytes, message: dict[str, Any], method: str) -> None:
        """Replay a recorded session to the editor if it asks for that, and bring the agent to it."""
        session = envelope.session_of(message) or ""
        start = Start(line, message, session)
        try:
            self._prepare(start)
            if start.place is not None and method == "session/load":
                for replayed in replay_lines(self._source.open_store(False), start.place, session):
                    self._peers.client.write(replayed)
        except (ScopesError, OSError) as error:
            self._log.write("continue-failed", error=str(error))
        if start.place is None:
            text = f"session {session} is not recorded"
            self._answer(message, envelope.error_line(message["id"], envelope.RESOURCE_NOT_FOUND, text))
            self._ready(None)
        else:
            self._try_next(start)

    def _answer(self, message: dict[str, Any], line: bytes) -> None:
        if self._peers.from_client.take(message) is not None:
            self._peers.client.write(line)

    # --- the start of a session; in the extra thread

    def _wants(self) -> bool:
        """Return True if the next new session is to be continued, and count it as the first one."""
        with self._lock:
            wants = not self._is_used
            self._is_used = self._options.which != "always"
        return wants

    def _start(self, start: Start) -> None:
        try:
            self._prepare(start)
        except (ScopesError, OSError) as error:
            start.place = None
            self._log.write("continue-failed", error=str(error))
        finally:  # after a bug too: the editor waits for its session
            self._try_next(start)

    def _prepare(self, start: Start) -> None:
        """Find what to continue, and the ways to do it; no place means a session of its own."""
        try:
            repository = self._source.open_store(False)
        except NotFound:
            if self._options.conversation is not None:
                raise
            return  # there is no store yet
        identity = identity_of(self.agent, start.params.get("cwd"))
        if start.session is not None:
            start.place = find_session(repository, self.agent, start.session)
        elif self._options.conversation is None:
            start.place = find_newest(repository, identity)
        else:
            start.place = find_named(repository, self._options.conversation, identity)
        if start.place is None:
            return
        if start.place.session is not None:
            wanted = ["fork", "resume", "load"] if self._options.fork else ["resume", "load"]
            start.ways = [way for way in wanted if self.offers(way)]
        if self._options.inject != "never" and (self._options.inject == "always" or not start.ways):
            self._prepare_history(start)

    def _prepare_history(self, start: Start) -> None:
        if start.place is not None and start.block is None and self._options.inject != "never":
            try:
                block = self._build_history(
                    self._source.open_store(False), f"{start.place.conversation}/{start.place.branch}"
                )
            except (ScopesError, OSError) as error:
                self._log.write("history-failed", error=str(error))
            else:
                start.block = block if block.messages else None

    def _try_next(self, start: Start) -> None:
        """Take the next way; without one, ask the agent for a new session, with the editor's own words."""
        start.attempt += 1
        if not start.ways or start.place is None or start.place.session is None:
            self._prepare_history(start)
            self._ask_for_new(start)
            return
        way, attempt, session = start.ways.pop(0), start.attempt, start.place.session
        if way == "load":
            self._replays[session] = []
        self._ask(start, way, attempt, {**start.params, "sessionId": session})

    def _ask(self, start: Start, way: str, attempt: int, params: Mapping[str, Any]) -> None:
        self._peers.ask_agent(
            _METHODS[way],
            params,
            lambda answer: self._way_answered(start, way, attempt, answer),
            self._options.tier_seconds,
        )

    def _ask_for_new(self, start: Start) -> None:
        """Ask the agent for a new session: with the editor's own line, unless that asks for another thing."""
        if start.session is None:
            with self._lock:
                self._new[envelope.key_of(start.message["id"])] = start
            self._peers.agent.write(start.line)
        else:
            params = {name: value for name, value in start.params.items() if name != "sessionId"}
            self._ask(start, "new", start.attempt, params)

    def _way_answered(self, start: Start, way: str, attempt: int, answer: dict[str, Any] | None) -> None:
        """Handle the answer to a resume, load or fork; None when its time is over."""
        place = start.place
        if place is None or place.session is None or attempt != start.attempt:
            return
        result = None if answer is None else envelope.result_of(answer)
        if result is not None:
            self._continued(start, way, place, result)
            return
        code = None if answer is None else envelope.error_code(answer)
        if code == envelope.AUTHENTICATION_REQUIRED or way == "new":
            error = (answer or {}).get("error", _TOO_LATE)
            self._log_refusal(_METHODS[way], start.session, {"error": error})
            self._give_back(start, error)
            return
        error = "took too long" if answer is None else envelope.error_message(answer)
        start.failures.append({"way": way, "error": error} if code is None else {"way": way, "code": code})
        self._log.write(f"{way}-failed", session=place.session, error=error, code=code)
        self._peers.later(lambda: self._try_next(start))

    def _continued(self, start: Start, way: str, place: Place, result: dict[str, Any]) -> None:
        """Answer the editor's request for a new session with the one that goes on."""
        given = result.get("sessionId")
        session = given if isinstance(given, str) else str(place.session)
        replayed = self._replays.pop(str(place.session), [])
        self._begin(start, way, session, place, result)
        if self._options.inject == "always" or way == "new":
            self._injections.arm(session, start.block)
        shown = {**result, "sessionId": session}
        if start.session is not None:
            self._aliases.add(start.session, session)
            self._known.add(start.session)
            del shown["sessionId"]
        self._answer(start.message, envelope.result_line(start.message["id"], shown))
        if way == "load":
            self._recorder.compare(session, [message for _, message in replayed])
            for line, _ in replayed if self._options.show_replay else ():
                self._peers.client.write(line)
        self._ready(session)

    def _begin(self, start: Start, way: str, session: str, place: Place | None, result: dict[str, Any]) -> None:
        resumed = way != "new"
        notes: dict[str, Any] = {"start": way, "resumed": resumed}
        if start.failures:
            notes["failures"] = start.failures
        self._log.write("session", way=way, resumed=resumed, session=session, where=_name(place))
        cwd = start.params.get("cwd")
        self._recorder.start_session(Started(session, cwd if isinstance(cwd, str) else "", place, result, notes))

    def _give_back(self, start: Start, error: Any) -> None:
        """Pass an error on to the editor that it must handle; its next new session counts as the first one."""
        with self._lock:
            self._is_used = self._is_used and start.session is not None
        self._answer(start.message, envelope.encode_line({"id": start.message["id"], "error": error}))
        self._ready(None)

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
                self._is_used = False
            self._ready(None)
        else:
            self._replays.pop(session, None)
            self._begin(start, "new", session, start.place, result)
            self._injections.arm(session, start.block)
            self._ready(session)


def _name(place: Place | None) -> str | None:
    return None if place is None else f"{place.conversation}/{place.branch}"
