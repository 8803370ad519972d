"""Put recorded history into the first prompt of a session: once, before the user's own content (S3-7 to S3-9)."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from scopes.context.history_block import HistoryBlock
from scopes.live.event_log import EventLog
from scopes.server.acp import envelope
from scopes.server.acp.pending import Request
from scopes.server.acp.recorder import Recorder

# Updates that may come before the agent has read the prompt.
_BEFORE_THE_PROMPT_IS_READ = frozenset({
    "available_commands_update", "current_mode_update", "config_option_update", "session_info_update"
})  # fmt: skip


@dataclass(slots=True)
class _Armed:
    """A session whose first prompt gets the history; `prompt` is the request that carries it now."""

    blocks: list[dict[str, Any]]
    notes: dict[str, Any]
    prompt: str | None = None


class Injections:
    """The sessions whose first prompt gets the history."""

    def __init__(self, recorder: Recorder, log: EventLog) -> None:
        self._recorder = recorder
        self._log = log
        self._armed: dict[str, _Armed] = {}
        self._lock = threading.Lock()

    def arm(self, session: str, block: HistoryBlock | None, system_prompt: str | None) -> None:
        """Put the system prompt and the history before the next prompt of a session."""
        blocks: list[dict[str, Any]] = [] if not system_prompt else [{"type": "text", "text": system_prompt}]
        notes: dict[str, Any] = {}
        if block is not None:
            blocks.append(history_content(block))
            notes = injection_notes(block)
        if blocks:
            with self._lock:
                self._armed[session] = _Armed(blocks, notes)

    def with_history(self, line: bytes, message: dict[str, Any]) -> bytes:
        """Return a prompt with the history before its own content, if its session waits for that (S3-7, S3-8)."""
        if envelope.method_of(message) != "session/prompt" or not envelope.is_request(message):
            return line
        session = envelope.session_of(message)
        with self._lock:
            armed = self._armed.get(session or "")
            if session is None or armed is None or armed.prompt is not None:
                return line
            armed.prompt = envelope.key_of(message["id"])
        try:
            changed = envelope.put_first(line, armed.blocks)
        except (ValueError, KeyError, IndexError):
            armed.prompt = None
            return line
        if armed.notes:
            self._recorder.note(session, injected=armed.notes)
        return changed

    def note_update(self, session: str, message: dict[str, Any]) -> None:
        """The agent has taken the prompt when it says something about it (S3-9)."""
        if not self._armed:
            return
        update = envelope.params_of(message).get("update")
        if isinstance(update, dict) and update.get("sessionUpdate") not in _BEFORE_THE_PROMPT_IS_READ:
            self._disarm(session)

    def prompt_answered(self, request: Request, message: dict[str, Any]) -> None:
        """The agent has taken a prompt that it has answered; one that has failed without an update it has not."""
        with self._lock:
            armed = self._armed.get(request.session or "")
            is_carrier = armed is not None and armed.prompt == envelope.key_of(request.id)
            if armed is not None and is_carrier and "error" in message:
                armed.prompt = None  # it failed without an update: the next prompt carries the history
        if is_carrier and "error" not in message:
            self._disarm(request.session or "")

    def _disarm(self, session: str) -> None:
        with self._lock:
            armed = self._armed.get(session)
            if armed is None or armed.prompt is None:
                return
            del self._armed[session]
        if armed.notes:
            self._log.write("injected", session=session, **armed.notes)


def history_content(block: HistoryBlock) -> dict[str, Any]:
    """Return a block of history as content of a prompt, marked as put in by us."""
    return {"type": "text", "text": block.text, "_meta": {"scopes": {"injected": True}}}


def injection_notes(block: HistoryBlock) -> dict[str, Any]:
    """Return what is recorded about history that was put in: the commits and the size, not the text (S3-15)."""
    return {
        "conversation": block.conversation, "first": block.first, "last": block.last, "messages": block.messages,
        "total": block.total, "left_out": block.left_out,
        "tokens": block.tokens, "method": block.method,
    }  # fmt: skip
