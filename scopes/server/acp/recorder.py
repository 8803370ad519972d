"""Record what a proxy passes on: a queue, and one thread that makes messages of it for the thread that writes them.

The recording never holds up the proxy. Only the answer of a prompt waits, a limited time, until what it ends is
written: into the store, or into the spool of `spool` if the store takes too long or cannot be written. So whatever an
editor has got the answer of survives a kill. A prompt is put into the spool long before its answer: it is what the user
has typed. If neither can be written, messages wait in memory; when these are too
many the recording stops, says so once in `acp.log`, and what is passed on later is not recorded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Final, NamedTuple

from scopes.clock import new_id, read_clock
from scopes.code_links.reflog import OpenTurn
from scopes.errors import ScopesError
from scopes.history.messages import default_author
from scopes.live.event_log import EventLog
from scopes.model.message import Author, Message
from scopes.server.acp import envelope
from scopes.server.acp.content import without_secrets
from scopes.server.acp.live_sessions import LiveSessions
from scopes.server.acp.options import RecordingTarget, RecordOptions, unchanged
from scopes.server.acp.recordings import RecordedBranch, SessionWriter, find_session, identity_of
from scopes.server.acp.replay import Replay, compare_replay, is_repeated
from scopes.server.acp.session_directories import SessionDirectories
from scopes.server.acp.session_turns import SessionTurns, TurnSettings, model_of, update_of
from scopes.server.acp.spool import Spool
from scopes.server.acp.store_writer import StoreWriter
from scopes.store.config import Config, user_config
from scopes.store.repository import Repository

STORE_SECONDS: Final = 2.0  # the longest that an answer waits for the store, and then for the spool
_SPOOL_SECONDS: Final = 2.0
_TOO_SLOW: Final = f"not in the store after {STORE_SECONDS:.0f} seconds: another process may have locked it"
_PROMPT_SECONDS: Final = 0.1  # that the store has for a prompt, before the spool gets it
_LINES_FIRST_SECONDS = 0.02  # what is passed on meanwhile does not compete with the recorder for the interpreter
_IDLE_SECONDS = 1.0  # without an open prompt, after which a message of the agent is complete
_MAX_NAME_LENGTH = 50  # characters; a name has at most 200 bytes
_EDITOR_CALLS = ("fs/", "terminal/")
_CHANGES = {"session/set_mode", "session/set_model", "session/set_config_option"}


class SessionStart(NamedTuple):
    """A session that a proxy has started or continued: where it goes on, and what is kept with its first message.

    forked: the session that this one is a fork of; `recorded` is the branch of that.
    """

    session: str
    cwd: str
    recorded: RecordedBranch | None
    result: Mapping[str, Any]
    notes: Mapping[str, Any]
    forked: str | None = None


class _Session:
    """A session that messages were seen of."""

    def __init__(self, turns: SessionTurns, writer: SessionWriter) -> None:
        self.turns = turns
        self.writer = writer
        self.title: str | None = None


class Recorder:
    """Takes messages from any thread; `run` writes them in the order in which they were taken."""

    def __init__(
        self,
        target: RecordingTarget,
        options: RecordOptions,
        log: EventLog,
        take_left: Callable[[SessionWriter, SessionStart], None],
        live: LiveSessions,
    ) -> None:
        self._target = target
        self._options = options
        self._log = log
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._repository: Repository | None = None
        self._sessions: dict[str, _Session] = {}
        self._asked: dict[tuple[str, str], dict[str, Any]] = {}  # requests by (side, id)
        self._replays: dict[str, Replay] = {}
        self._fork_replays: dict[str, Replay] = {}  # of sessions that the editor forks
        self._agent = target.agent or target.program
        self._user: Author | None = None
        self._writer = StoreWriter(log, Spool(log.directory), target.store_path)
        self._is_behind = False
        self._is_in_memory = False  # and nowhere else, because the spool cannot be written
        self._prompt_due: float | None = None  # when a prompt must be in the store or in the spool
        self._directories = SessionDirectories()
        self._answer_waiting = threading.Event()  # an answer waits
        self._live = live
        self._take_left = take_left  # before the messages of each session; it may raise Busy, and is called again then

    def observe(self, side: str, message: dict[str, Any]) -> None:
        """Take a message that `editor` or `agent` has sent."""
        time = read_clock()
        git = self._directories.observe(side, message, time) if self._writer.is_on else None
        self._queue.put(lambda: self._record(side, message, time, git))

    def start_session(self, started: SessionStart) -> None:
        """Take a session that was continued."""
        self._directories.add(started.session, started.cwd)
        self._queue.put(lambda: self._begin(started.session, started))

    def note(self, session: str, **notes: Any) -> None:
        """Keep something with the next message of a session."""
        self._queue.put(lambda: self._note(session, notes))

    def compare(self, session: str, replayed: list[dict[str, Any]]) -> None:
        """Compare what an agent replayed with what is recorded (S3-23)."""
        self._queue.put(lambda: self._compare(session, replayed))

    def wait_until_recorded(self) -> None:
        """Wait until everything taken so far is in the store, or in the spool if the store takes too long.

        Neither wait is longer than two seconds. Until the store has caught up, there is only the second one.
        """
        if not self._writer.is_on:
            return
        written = threading.Event()
        self._queue.put(lambda: self._writer.call(written.set))
        self._answer_waiting.set()
        if not written.wait(0 if self._is_behind or self._writer.is_failing else STORE_SECONDS):
            self._keep_in_spool()
        self._answer_waiting.clear()

    def _keep_in_spool(self) -> None:
        if not self._is_behind:
            self._is_behind = True
            delay = self._writer.delay
            text = _TOO_SLOW if delay is None else str(delay)
            self._log.write("recording-slow", error=text, hint=getattr(delay, "hint", None))
            self._queue.put(lambda: self._writer.call(self._caught_up))
        kept = threading.Event()
        self._queue.put(lambda: self._spool_waiting(kept.set, is_late=True))
        if not kept.wait(_SPOOL_SECONDS):
            self._log.write("spool-failed", error="the disk took too long")

    def _spool_waiting(self, done: Callable[[], None] | None = None, *, is_late: bool = False) -> None:
        self._prompt_due = None
        try:
            self._writer.spool_waiting(is_late=is_late or self._is_behind)
        except (ScopesError, OSError) as error:
            self._log.write("spool-failed", error=str(error))
            if not self._is_in_memory:
                self._is_in_memory = True
                self._writer.call(self._caught_up)
        if done is not None:
            done()

    def _caught_up(self) -> None:
        self._is_behind = self._is_in_memory = False
        if self._writer.is_on:
            self._log.write("caught-up")

    def stop(self) -> None:
        """End `run` after everything taken so far; open turns are interrupted."""
        self._queue.put(self._end_all)
        self._queue.put(None)
        self._answer_waiting.set()

    def run(self) -> None:
        """Turn what was taken into messages until `stop`, and wait for the thread that writes them."""
        writing = threading.Thread(target=self._writer.run, name="acp writer", daemon=True)
        writing.start()
        try:
            while (work := self._next()) is not None:
                self._try(work)
        finally:
            self._writer.end()
        writing.join(STORE_SECONDS)
        if writing.is_alive():
            self._spool_waiting(is_late=True)
            writing.join()

    def _next(self) -> Callable[[], None] | None:
        left = None if self._prompt_due is None else self._prompt_due - monotonic()
        if left is not None and left <= 0:
            return self._spool_waiting
        try:
            return self._queue.get_nowait()
        except Empty:
            pass
        try:
            work = self._queue.get(timeout=_IDLE_SECONDS if left is None else left)
        except Empty:
            return self._flush_idle if left is None else self._spool_waiting
        self._answer_waiting.wait(_LINES_FIRST_SECONDS)
        return work

    def _try(self, work: Callable[[], None]) -> None:
        try:
            work()
        except (ScopesError, OSError) as error:
            self._writer.switch_off(error)

    def _record(self, side: str, message: dict[str, Any], time: int, git: OpenTurn | None) -> None:
        if not self._writer.is_on:
            return
        if envelope.is_response(message):
            asked = self._asked.pop(("agent" if side == "editor" else "editor", envelope.key_of(message["id"])), None)
            if asked is not None:
                self._record_answer(side, asked, message, time, git)
        elif side == "editor":
            self._record_editor(message, time, git)
        else:
            self._record_agent(message, time)

    def _record_editor(self, message: dict[str, Any], time: int, git: OpenTurn | None) -> None:
        method = envelope.method_of(message)
        if method == "authenticate":
            return  # its parameters may be secrets
        if envelope.is_request(message):
            self._asked["editor", envelope.key_of(message["id"])] = message
        session = envelope.session_of(message)
        if method == "session/prompt" and session is not None and "id" in message:
            found = self._session(session)
            self._write(found, found.turns.prompt(message["id"], envelope.params_of(message), time, git))
            self._keep_prompt()
        elif method == "session/load" and session is not None:
            self._replays[session] = Replay()

    def _record_agent(self, message: dict[str, Any], time: int) -> None:
        method, session = envelope.method_of(message), envelope.session_of(message)
        if envelope.is_request(message):
            self._asked["agent", envelope.key_of(message["id"])] = message
            if method.startswith(_EDITOR_CALLS) and session is not None:
                self._session(session).turns.editor_call(method, envelope.params_of(message))
        update = update_of(message)
        if method != "session/update" or session is None or update is None:
            return
        if session in self._replays:
            self._replays[session].add(update)
        elif session not in self._sessions and is_repeated(update) and self._is_forking():
            self._fork_replays.setdefault(session, Replay()).add(update)  # its id comes with the answer
        else:
            found = self._session(session)
            self._write(found, found.turns.update(update, time))

    def _record_answer(
        self, side: str, asked: dict[str, Any], message: dict[str, Any], time: int, git: OpenTurn | None
    ) -> None:
        method, session = envelope.method_of(asked), envelope.session_of(asked)
        if side == "editor":
            if method == "session/request_permission" and session is not None:
                self._session(session).turns.permission(envelope.params_of(asked), envelope.result_of(message))
        elif method == "session/prompt" and session is not None:
            found = self._session(session)
            self._write(found, found.turns.answered(message, time, git))
            self._set_title(found)
        elif method in _CHANGES and session is not None and envelope.result_of(message) is not None:
            self._session(session).turns.changed(method, envelope.params_of(asked), envelope.result_of(message) or {})
        elif method == "initialize":
            self._agent = self._target.agent or agent_name(message) or self._target.program
        elif method in envelope.OPENING_METHODS:
            self._record_opening(asked, message)

    def _record_opening(self, asked: dict[str, Any], message: dict[str, Any]) -> None:
        """Note a session that the editor has opened itself; what an agent replays is compared, not recorded."""
        result, session = envelope.result_of(message), envelope.session_of(asked)
        replay = self._replays.pop(session, None) if session is not None else None
        method = envelope.method_of(asked)
        replayed_forks, self._fork_replays = self._fork_replays, {} if method == "session/fork" else self._fork_replays
        if result is None:
            return
        opened = result.get("sessionId") if method in {"session/new", "session/fork"} else session
        if not isinstance(opened, str):
            return
        replay = replayed_forks.get(opened) if replay is None else replay
        cwd = envelope.params_of(asked).get("cwd")
        known = self._sessions.get(str(session))
        how = {"start": method.removeprefix("session/"), "resumed": method in {"session/load", "session/resume"}}
        forked = session if method == "session/fork" else None
        self._begin(opened, SessionStart(opened, cwd if isinstance(cwd, str) else "", None, result, how, forked))
        if method != "session/new":
            writer = self._sessions[opened].writer
            self._writer.then(lambda: self._begin_at_session(writer, str(session), known))
        if replay is not None:
            self._report(opened, replay)

    def _is_forking(self) -> bool:
        """Return True while the editor waits for a fork, whose session it does not know yet."""
        return any(
            envelope.method_of(each) == "session/fork" for (side, _), each in self._asked.items() if side == "editor"
        )

    def _begin_at_session(self, writer: SessionWriter, session: str, known: _Session | None) -> None:
        """Let a writer go on where a session is recorded now; `known` is that if it is of this proxy."""
        recorded = None if known is None else known.writer.recorded
        if recorded is None:
            recorded = find_session(self._store(), self._agent, session)
        writer.begin_at(recorded)

    def _begin(self, session: str, started: SessionStart) -> None:
        if not self._writer.is_on:
            return
        run = new_id()
        if self._user is None:  # once: later the other thread uses the store
            self._user = self._find_user()
        clean = without_secrets if self._options.redact else unchanged
        settings = TurnSettings(self._user, Author(self._agent), run, clean)
        turns = SessionTurns(session, settings, model_of(started.result))
        turns.note(**started.notes)
        identity = identity_of(self._agent, started.cwd)
        writer = SessionWriter(
            self._store, identity, session, run, started.recorded, forked=started.forked, live=self._live
        )
        self._sessions[session] = _Session(turns, writer)
        self._writer.then(lambda: self._take_left(writer, started))

    def _session(self, session: str) -> _Session:
        """Return a session; one that was never opened here is a new one."""
        if session not in self._sessions:
            self._begin(session, SessionStart(session, "", None, {}, {}))
        return self._sessions[session]

    def _note(self, session: str, notes: Mapping[str, Any]) -> None:
        if self._writer.is_on and session in self._sessions:
            self._sessions[session].turns.note(**notes)

    def _compare(self, session: str, replayed: list[dict[str, Any]]) -> None:
        replay = Replay()
        for message in replayed:
            replay.add(update_of(message) or {})
        self._report(session, replay)

    def _report(self, session: str, replay: Replay) -> None:
        found = self._sessions.get(session)
        if found is not None:
            self._writer.then(lambda: self._log_difference(session, found.writer.recorded, replay))

    def _log_difference(self, session: str, recorded: RecordedBranch | None, replay: Replay) -> None:
        difference = None if recorded is None else compare_replay(self._store(), recorded, replay)
        if difference is not None:
            self._log.write("replay-differs", session=session, **difference)

    def _write(self, found: _Session, messages: list[Message]) -> None:
        for message in messages:
            self._writer.put(found.writer, message)

    def _keep_prompt(self) -> None:
        """Put a prompt into the spool, unless the store has it in a moment."""
        if self._is_behind or self._writer.is_failing:
            self._spool_waiting()
        elif self._prompt_due is None:
            self._prompt_due = monotonic() + _PROMPT_SECONDS

    def _set_title(self, found: _Session) -> None:
        title = found.turns.title
        if title is not None and title != found.title:
            found.title = title
            self._writer.then(lambda: found.writer.set_title(title))

    def _flush_idle(self) -> None:
        for found in self._sessions.values() if self._writer.is_on else ():
            if found.turns.is_idle:
                self._write(found, found.turns.flush(read_clock()))

    def _end_all(self) -> None:
        for found in self._sessions.values() if self._writer.is_on else ():
            self._write(found, found.turns.end(read_clock()))

    def _find_user(self) -> Author:
        """Return the author of prompts: the one in the settings, also if the store cannot be opened yet."""
        try:
            return default_author(self._store().config)
        except (ScopesError, OSError) as error:
            self._log.write("store-failed", error=str(error), hint=getattr(error, "hint", None))
        try:
            return default_author(Config(user_config(), {}, ""))
        except (ScopesError, OSError):
            return Author("user", "human")

    def _store(self) -> Repository:
        """Return the store, which is opened when it is needed; raises as `open_for_writing`."""
        if self._repository is None:
            self._repository = self._target.open_for_writing()
        return self._repository


def agent_name(message: Mapping[str, Any]) -> str | None:
    """Return the name that an agent gives itself in its answer to `initialize`; None if it gives none."""
    info = (envelope.result_of(message) or {}).get("agentInfo")
    name = info.get("name") if isinstance(info, dict) else None
    if not isinstance(name, str) or not name.strip():
        return None
    return name.strip().encode("utf-8", "replace").decode()[:_MAX_NAME_LENGTH]
