"""The directories that the sessions of a proxy work in, and where HEAD of their projects is when a prompt passes.

The recorder may be late. What it compares with at the end of a turn is read before the agent has got the prompt, and
where the reflog ends before the editor has the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scopes.code_links.reflog import OpenTurn, begin_turn
from scopes.server.acp import envelope

_SECOND = 1_000_000_000


class SessionDirectories:
    """Learns directories from the requests that open sessions; used by the threads that pass lines on."""

    def __init__(self) -> None:
        self._by_session: dict[str, str] = {}
        self._turns: dict[str, OpenTurn] = {}  # by the request of the prompt
        self._opening: dict[str, tuple[object, str | None]] = {}  # requests: their cwd, and the session they name

    def add(self, session: str, cwd: object) -> None:
        """Note where a session works."""
        if isinstance(cwd, str) and cwd:
            self._by_session[session] = cwd

    def observe(self, side: str, message: Mapping[str, Any], time: int) -> OpenTurn | None:
        """Take a message that is passed on; return where HEAD is if it is a prompt, or the answer of one.

        None for other messages, and if that is not known.
        """
        if envelope.is_response(message):
            return self._take_answer(message) if side == "agent" else None
        method, session = envelope.method_of(message), envelope.session_of(message)
        if side != "editor":
            return None
        if method in envelope.OPENING_METHODS and "id" in message:
            known = session if method in {"session/load", "session/resume"} else None
            self._opening[envelope.key_of(message["id"])] = (envelope.params_of(message).get("cwd"), known)
        directory = self._by_session.get(session) if method == "session/prompt" and session is not None else None
        turn = None if directory is None else begin_turn(directory, time // _SECOND)
        if turn is not None and "id" in message:
            self._turns[envelope.key_of(message["id"])] = turn
        return turn

    def _take_answer(self, message: Mapping[str, Any]) -> OpenTurn | None:
        turn = self._turns.pop(envelope.key_of(message["id"]), None)
        if turn is not None:
            return turn.stopped()
        cwd, session = self._opening.pop(envelope.key_of(message["id"]), (None, None))
        result = envelope.result_of(message)
        opened = session or (result or {}).get("sessionId")
        if result is not None and isinstance(opened, str):
            self.add(opened, cwd)
        return None
