"""Which agent runs a command: the variables that agents set in the shells they start.

Codex and Claude Code name their session, Codex also the tool call; of the others it is only known that they started the
shell. A shell inside two agents, one started by the other, has the variables of both.

Sources: code.claude.com/docs/en/env-vars (CLAUDECODE, CLAUDE_CODE_SESSION_ID; GitHub issue anthropics/claude-code#47018
shows that 2.1.104 did not set the session), codex-rs of Codex 0.169, and runs of OpenCode 1.18, Gemini CLI 0.61, Qwen
Code 0.15 and pi 0.73. The versions that first set a variable are not verified.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

_ID = re.compile(r"[0-9A-Za-z_.:-]{1,128}")


class AgentVariables(NamedTuple):
    """The variables of one agent; `tool` is its name."""

    tool: str
    present: tuple[str, ...]
    session: str | None = None
    call: str | None = None


class AgentSession(NamedTuple):
    """A session that a shell belongs to, and the tool call that started it; None for what is not known."""

    tool: str
    session: str | None = None
    call_id: str | None = None


AGENT_VARIABLES: Final = (
    AgentVariables("codex", ("CODEX_THREAD_ID",), "CODEX_THREAD_ID", "CODEX_TOOL_CALL_ID"),
    AgentVariables("claude-code", ("CLAUDE_CODE_SESSION_ID", "CLAUDECODE"), "CLAUDE_CODE_SESSION_ID"),
    AgentVariables("opencode", ("OPENCODE",)),
    AgentVariables("gemini", ("GEMINI_CLI",)),
    AgentVariables("qwen", ("QWEN_CODE",)),
    AgentVariables("pi", ("PI_CODING_AGENT",)),
)
VARIABLES: Final = tuple(
    dict.fromkeys(
        name for agent in AGENT_VARIABLES for name in (*agent.present, agent.session, agent.call) if name is not None
    )
)


def find_sessions(environ: Mapping[str, str]) -> list[AgentSession]:
    """Return the sessions of agents that an environment names; an id that no agent writes is left out."""
    return [
        AgentSession(agent.tool, _id(environ, agent.session), _id(environ, agent.call))
        for agent in AGENT_VARIABLES
        if any(environ.get(name) for name in agent.present)
    ]


def _id(environ: Mapping[str, str], name: str | None) -> str | None:
    value = environ.get(name, "") if name is not None else ""
    return value if _ID.fullmatch(value) else None
