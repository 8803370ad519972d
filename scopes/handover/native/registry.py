"""The agents that sessions can be written for, by name. To add one: its module, and its entry here."""

from __future__ import annotations

from collections.abc import Mapping

from scopes.errors import Invalid
from scopes.handover.native.claude_code import ClaudeCode
from scopes.handover.native.codex import Codex
from scopes.handover.native.gemini import Gemini
from scopes.handover.native.llm import Llm
from scopes.handover.native.opencode import OpenCode
from scopes.handover.native.pi import Pi
from scopes.handover.native.qwen import Qwen
from scopes.handover.native.session import Writer
from scopes.hosts.agents import find_agent_named

WRITERS: Mapping[str, Writer] = {
    writer.name: writer for writer in (ClaudeCode(), Codex(), Gemini(), Llm(), OpenCode(), Pi(), Qwen())
}
_HINT = f"agents: {', '.join(WRITERS)}; for any other one: scopes context CONV --for-prompt"


def find_writer(name: str) -> Writer | None:
    """Return what writes sessions for an agent, by one of its names; None if there is nothing."""
    agent = find_agent_named(name)
    return None if agent is None else WRITERS.get(agent.name)


def read_writer(name: str) -> Writer:
    """Return what writes sessions for an agent, by one of its names.

    Raises:
        Invalid: there is nothing; the hint lists the agents.
    """
    found = find_writer(name)
    if found is None:
        raise Invalid(f"no session can be written for {name!a}", hint=_HINT)
    return found
