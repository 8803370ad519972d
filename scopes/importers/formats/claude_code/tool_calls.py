"""Pending tool calls: match results to their calls, and sub-agents to the calls that started them."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from scopes.importers.formats.fields import file_content_hash, object_field, text_field

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
    """A tool call: its message, the tool, and the file that it is about."""

    message: str
    name: str
    path: str | None = None
    op: str | None = None
    content_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Spawn:
    """The tool call that started a sub-agent."""

    call_id: str
    agent: str | None


class ToolCalls:
    """The calls so far. Only names are kept of a call, not its input."""

    def __init__(self) -> None:
        self._pending: dict[str, ToolCall] = {}
        self._spawns: dict[str, Spawn] = {}
        self._by_prompt: dict[bytes, list[Spawn]] = {}
        self._by_agent: dict[str, Spawn] = {}

    def add(self, message: str, block: Any) -> None:
        """Add the tool call in a content block of a message, if it is one."""
        match block:
            case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
                arguments = object_field(block, "input")
                self._pending[call_id] = _build_call(message, name, arguments)
                if name in _AGENT_TOOLS:
                    self._add_spawn(
                        Spawn(call_id, text_field(arguments, "subagent_type")), text_field(arguments, "prompt")
                    )

    def take(self, call_id: object) -> ToolCall | None:
        """Return and remove the call of a tool result."""
        return self._pending.pop(call_id, None) if isinstance(call_id, str) else None

    def add_progress(self, value: dict[str, Any]) -> None:
        """Read from a progress record which call started a sub-agent."""
        agent, call_id = text_field(object_field(value, "data"), "agentId"), text_field(value, "parentToolUseID")
        if agent is not None and call_id is not None:
            self._by_agent.setdefault(agent, self._spawns.get(call_id) or Spawn(call_id, None))

    def find_spawn(self, side: str, prompt: str) -> Spawn | None:
        """Return the call that started a sub-agent, found by the agent's id, else by an equal prompt."""
        known = self._by_agent.get(side)
        if known is None:
            same_prompt = self._by_prompt.get(_digest(prompt), [])
            known = same_prompt.pop(0) if same_prompt else None
        return known

    def _add_spawn(self, spawn: Spawn, prompt: str | None) -> None:
        self._spawns[spawn.call_id] = spawn
        if prompt is not None:
            self._by_prompt.setdefault(_digest(prompt), []).append(spawn)


def _build_call(message: str, name: str, arguments: dict[str, Any]) -> ToolCall:
    field, op = _FILE_TOOLS.get(name, (None, None))
    path = None if field is None else text_field(arguments, field)
    return ToolCall(message, name, path, op, file_content_hash(arguments.get("content")) if name == "Write" else None)


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
