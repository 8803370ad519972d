"""List, load and resume sessions from the record, for an agent that cannot do it itself (`acp --emulate`).

The editor sees an agent that offers them. A session is replayed from the recorded messages; the agent is then brought
to it by the ways of `continuation`. If that gives the session another id, the editor goes on with the one it knows,
and every line is translated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, Protocol

from scopes.errors import ScopesError
from scopes.history.handles import StoreHandle, read_heading
from scopes.history.messages import read_message
from scopes.history.names import MAIN
from scopes.live.event_log import EventLog
from scopes.model.message import Message, Part
from scopes.server.acp import envelope
from scopes.server.acp.options import RecordingTarget
from scopes.server.acp.peers import Peers
from scopes.server.acp.pending import PendingStart
from scopes.server.acp.recordings import RecordedBranch, list_sessions
from scopes.store.repository import Repository

METHODS: Final = {"session/list": "list", "session/load": "load", "session/resume": "resume"}
_PAGE = 100  # sessions in one answer


def capabilities_of(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what an agent offers by its answer to `initialize`."""
    capabilities = (envelope.result_of(answer) or {}).get("agentCapabilities")
    return capabilities if isinstance(capabilities, dict) else {}


def is_offered(capabilities: Mapping[str, Any], way: str) -> bool:
    """Return True if an agent offers a way to go on with a session, or to list them (S3-2)."""
    if way == "load":
        return capabilities.get("loadSession") is True
    sessions = capabilities.get("sessionCapabilities")
    return isinstance(sessions, dict) and isinstance(sessions.get(way), dict)


def advertise(line: bytes, ways: Collection[str]) -> bytes:
    """Return the answer to `initialize` with more ways in it; everything else keeps its text.

    Raises:
        ValueError, KeyError: the line is no such answer.
    """
    members = envelope.split_members(line.decode("utf-8", "surrogateescape"))
    result = envelope.split_members(members["result"])
    known = json.loads(result.get("agentCapabilities", "{}"))
    capabilities = known if isinstance(known, dict) else {}
    sessions = capabilities.get("sessionCapabilities")
    offered: dict[str, Any] = {way: {} for way in sorted(ways) if way != "load"}
    capabilities["sessionCapabilities"] = {**(sessions if isinstance(sessions, dict) else {}), **offered}
    if "load" in ways:
        capabilities["loadSession"] = True
    result["agentCapabilities"] = json.dumps(capabilities)
    members["result"] = envelope.join_members(result)
    return envelope.join_members(members).encode("utf-8", "surrogateescape") + b"\n"


def list_result(repository: Repository, agent: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to `session/list`: the sessions of an agent, newest first, of one directory if it is given."""
    given, cursor = params.get("cwd"), params.get("cursor")
    cwd = given if isinstance(given, str) and given else None
    begin = int(cursor) if isinstance(cursor, str) and cursor.isdecimal() else 0
    branches = list(list_sessions(repository, agent, cwd))
    result: dict[str, Any] = {"sessions": [_session_info(repository, each) for each in branches[begin : begin + _PAGE]]}
    if len(branches) > begin + _PAGE:
        result["nextCursor"] = str(begin + _PAGE)
    return result


def _session_info(repository: Repository, recorded: RecordedBranch) -> dict[str, Any]:
    info = {
        "sessionId": recorded.session,
        "cwd": recorded.cwd or "/",
        "title": _title_of(repository, recorded),
        "updatedAt": read_message(repository, recorded.tip).time,
    }
    return {name: value for name, value in info.items() if value is not None}


def _title_of(repository: Repository, recorded: RecordedBranch) -> str:
    """Return the title of a conversation, with the name of a branch that is not main: an editor shows nothing else."""
    heading = read_heading(repository, recorded.conversation)
    if heading is None:
        return f"{recorded.conversation}/{recorded.branch}"
    return heading.text if recorded.branch == MAIN else f"{heading.text} ({recorded.branch})"


def replay_lines(repository: Repository, recorded: RecordedBranch, session: str) -> Iterator[bytes]:
    """Yield the recorded messages of a branch as updates of a session, oldest first."""
    handle = StoreHandle(repository).conversation(recorded.conversation).branch(recorded.branch)
    for message in reversed(list(handle.messages())):
        for update in _updates_of(message):
            params = {"sessionId": session, "update": update}
            yield envelope.encode_line({"method": "session/update", "params": params})


def _updates_of(message: Message) -> Iterator[dict[str, Any]]:
    """Yield a message as updates; what neither the user nor the agent wrote has none."""
    if message.kind not in {"prompt", "answer", "plain"}:
        return
    own = "user_message_chunk" if message.author.kind == "human" else "agent_message_chunk"
    results = {part.fields.get("call_id"): part for part in message.parts if part.type == "tool_result"}
    for part in message.parts:
        if part.type == "text":
            yield {"sessionUpdate": own, "messageId": message.id, "content": {"type": "text", "text": part.text}}
        elif part.type == "reasoning":
            yield {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": part.text}}
        elif part.type == "image" and isinstance(part.fields.get("data"), str):
            content = {"type": "image", "mimeType": part.fields.get("media_type"), "data": part.fields["data"]}
            yield {"sessionUpdate": own, "messageId": message.id, "content": content}
        elif part.type == "tool_call":
            yield _call_update(part, results.get(part.fields.get("call_id")))


def _call_update(call: Part, result: Part | None) -> dict[str, Any]:
    name = str(call.fields.get("name", "tool"))
    status = "pending" if result is None else "failed" if result.fields.get("is_error") is True else "completed"
    update: dict[str, Any] = {
        "sessionUpdate": "tool_call",
        "toolCallId": str(call.fields.get("call_id", "")),
        "title": str(call.fields.get("title", name)),
        "status": status,
        "rawInput": call.fields.get("input"),
    }
    output = None if result is None else result.fields.get("output")
    if isinstance(output, str):
        update["content"] = [{"type": "content", "content": {"type": "text", "text": output}}]
    return update


class Aliases:
    """The sessions that the agent knows by another id than the editor."""

    def __init__(self) -> None:
        self._agent: dict[str, str] = {}
        self._editor: dict[str, str] = {}

    def add(self, editor: str, agent: str) -> None:
        """Translate from now on between two ids of a session."""
        if editor != agent:
            self._agent[editor] = agent
            self._editor[agent] = editor

    def to_agent(self, line: bytes, message: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
        """Return a line and a message of the editor with the agent's id."""
        other = self._agent.get(envelope.session_of(message) or "")
        if other is None:
            return line, message
        changed = {**message, "params": {**message["params"], "sessionId": other}}
        return envelope.change_params(line, {"sessionId": json.dumps(other)}), changed

    def to_editor(self, line: bytes, message: dict[str, Any]) -> bytes:
        """Return a line of the agent with the editor's id."""
        other = self._editor.get(envelope.session_of(message) or "")
        return line if other is None else envelope.change_params(line, {"sessionId": json.dumps(other)})


class Starter(Protocol):
    """What opens a session at the agent: `Continuations`."""

    agent: str

    def offers(self, way: str) -> bool:
        """Return True if the agent offers a way."""

    def begin_start(self, start: Callable[[], None]) -> None:
        """Open a session in the extra thread."""

    def prepare(self, start: PendingStart) -> None:
        """Find what to continue, and the ways to do it."""

    def try_next(self, start: PendingStart) -> None:
        """Take the next way."""

    def end_start(self, session: str | None) -> None:
        """Pass on what has waited."""


class Emulation:
    """Answers the editor where the agent cannot."""

    def __init__(self, starter: Starter, peers: Peers, target: RecordingTarget, log: EventLog) -> None:
        self._starter = starter
        self._peers = peers
        self._target = target
        self._log = log
        self._initialize: str | None = None  # the request whose answer is changed

    def takes(self, line: bytes, message: dict[str, Any]) -> bool:
        """Return True if a message of the editor is a request that is answered from the record."""
        method = envelope.method_of(message)
        if not envelope.is_request(message):
            return False
        if method == "initialize":
            self._initialize = envelope.key_of(message["id"])
        if method not in METHODS or self._starter.offers(METHODS[method]):
            return False
        if method == "session/list":
            self._peers.run_in_worker(lambda: self._list(message))
        else:
            self._starter.begin_start(lambda: self._open_recorded(line, message, method))
        return True

    def advertise(self, line: bytes, message: dict[str, Any]) -> bytes:
        """Return a line of the agent; its answer to `initialize` with what we do ourselves in it."""
        if self._initialize is None or not envelope.is_response(message):
            return line
        if envelope.key_of(message["id"]) != self._initialize or envelope.result_of(message) is None:
            return line
        self._initialize = None
        capabilities = capabilities_of(message)
        try:
            return advertise(line, [way for way in METHODS.values() if not is_offered(capabilities, way)])
        except (ValueError, KeyError):
            return line

    def _list(self, message: dict[str, Any]) -> None:
        try:
            result = list_result(self._target.open_store(False), self._starter.agent, envelope.params_of(message))
        except (ScopesError, OSError) as error:
            self._log.write("list-failed", error=str(error))
            result = {"sessions": []}
        self._peers.answer_editor(message, envelope.result_line(message["id"], result))

    def _open_recorded(self, line: bytes, message: dict[str, Any], method: str) -> None:
        """Replay a recorded session to the editor if it asks for that, and bring the agent to it."""
        session = envelope.session_of(message) or ""
        start = PendingStart(line, message, session)
        try:
            self._starter.prepare(start)
            if start.recorded is not None and method == "session/load":
                for replayed in replay_lines(self._target.open_store(False), start.recorded, session):
                    self._peers.editor.write(replayed)
        except (ScopesError, OSError) as error:
            self._log.write("continue-failed", error=str(error))
        if start.recorded is None:
            text = f"session {session} is not recorded"
            self._peers.answer_editor(message, envelope.error_line(message["id"], envelope.RESOURCE_NOT_FOUND, text))
            self._starter.end_start(None)
        else:
            self._starter.try_next(start)
