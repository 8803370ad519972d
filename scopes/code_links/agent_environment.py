"""Which agent runs a command: the variables that agents give to the shells they start.

Codex has the session since 0.120 and the call since 0.169, Claude Code the session since 2.1.132; the others say only
that it is one of them. A shell inside of two agents, one started by the other, has the variables of both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

_ID = re.compile(r"[0-9A-Za-z_.:-]{1,128}")


class AgentVariables(NamedTuple):
    """The variables of one agent; `tool` is the name of its format."""

    tool: str
    present: tuple[str, ...]
    session: str | None = None
    call: str | None = None


class AgentSession(NamedTuple):
    """A session that a shell belongs to, and the tool call that started it; None for what is not known."""

    tool: str
    session: str | None = None
    call_id: str | None = None


AGENTS: Final = (
    AgentVariables("codex", ("CODEX_THREAD_ID",), "CODEX_THREAD_ID", "CODEX_TOOL_CALL_ID"),
    AgentVariables("claude-code", ("CLAUDE_CODE_SESSION_ID", "CLAUDECODE"), "CLAUDE_CODE_SESSION_ID"),
    AgentVariables("opencode", ("OPENCODE",)),
    AgentVariables("gemini", ("GEMINI_CLI",)),
    AgentVariables("qwen", ("QWEN_CODE",)),
    AgentVariables("pi", ("PI_CODING_AGENT",)),
)
VARIABLES: Final = tuple(
    dict.fromkeys(name for agent in AGENTS for name in (*agent.present, agent.session, agent.call) if name is not None)
)


def find_sessions(environ: Mapping[str, str]) -> list[AgentSession]:
    """Return the sessions of agents that an environment names; an id that no agent writes is left out."""
    return [
        AgentSession(agent.tool, _id(environ, agent.session), _id(environ, agent.call))
        for agent in AGENTS
        if any(environ.get(name) for name in agent.present)
    ]


def _id(environ: Mapping[str, str], name: str | None) -> str | None:
    value = environ.get(name, "") if name is not None else ""
    return value if _ID.fullmatch(value) else None
