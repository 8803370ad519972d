"""Tool calls that are remembered until something refers to them: their results, and the sub-agents that they began."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from scopes.importers.formats.claude_code.records import object_field, text_field

_FILE_TOOLS = {
    "Read": ("file_path", "read"),
    "Write": ("file_path", "edit"),
    "Edit": ("file_path", "edit"),
    "MultiEdit": ("file_path", "edit"),
    "NotebookEdit": ("notebook_path", "edit"),
}
_AGENT_TOOLS = frozenset({"Task", "Agent"})


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call: the message that made it, the tool, and the file that it asked for."""

    answer: str
    name: str
    path: str | None = None
    op: str | None = None
    content_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Spawn:
    """The call that began a sub-agent."""

    call_id: str
    agent: str | None


class ToolCalls:
    """What is known of the calls so far; of a call only names are kept."""

    def __init__(self) -> None:
        self._pending: dict[str, ToolCall] = {}
        self._spawns: dict[str, Spawn] = {}
        self._by_prompt: dict[bytes, list[Spawn]] = {}
        self._by_agent: dict[str, Spawn] = {}

    def note(self, answer: str, block: Any) -> None:
        """Remember a call that a block of an answer makes."""
        match block:
            case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
                asked = object_field(block, "input")
                self._pending[call_id] = _describe(answer, name, asked)
                if name in _AGENT_TOOLS:
                    self._note_spawn(Spawn(call_id, text_field(asked, "subagent_type")), text_field(asked, "prompt"))

    def take(self, call_id: object) -> ToolCall | None:
        """Return the call that a result answers, once."""
        return self._pending.pop(call_id, None) if isinstance(call_id, str) else None

    def note_progress(self, value: dict[str, Any]) -> None:
        """Learn from a progress record which call a sub-agent works for."""
        agent, call_id = text_field(object_field(value, "data"), "agentId"), text_field(value, "parentToolUseID")
        if agent is not None and call_id is not None:
            self._by_agent.setdefault(agent, self._spawns.get(call_id) or Spawn(call_id, None))

    def find_spawn(self, side: str, prompt: str) -> Spawn | None:
        """Find the call that began a sub-agent: by the agent's id, otherwise by its prompt, word for word."""
        known = self._by_agent.get(side)
        if known is None:
            alike = self._by_prompt.get(_digest(prompt), [])
            known = alike.pop(0) if alike else None
        return known

    def _note_spawn(self, spawn: Spawn, prompt: str | None) -> None:
        self._spawns[spawn.call_id] = spawn
        if prompt is not None:
            self._by_prompt.setdefault(_digest(prompt), []).append(spawn)


def hash_of(content: object) -> str | None:
    """Hash a file's whole content; None where it is no text, or none that a file could hold."""
    if not isinstance(content, str):
        return None
    try:
        return f"sha256:{sha256(content.encode('utf-8')).hexdigest()}"
    except UnicodeEncodeError:
        return None


def _describe(answer: str, name: str, asked: dict[str, Any]) -> ToolCall:
    field, op = _FILE_TOOLS.get(name, (None, None))
    path = None if field is None else text_field(asked, field)
    return ToolCall(answer, name, path, op, hash_of(asked.get("content")) if name == "Write" else None)


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
