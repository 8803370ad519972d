"""The agents that scopes knows: their names, their programs, and where each keeps its configuration.

This is the one table of them. What is special to a verb stays with the verb, under the name of the agent: hooks in
`agent_hooks`, servers in `mcp_servers`, commands in `handover.agent_programs`, variables of shells in
`code_links.agent_environment`, folders of transcripts in the formats.

Sources: code.claude.com/docs/en/env-vars (CLAUDE_CONFIG_DIR), the page config-file/environment-variables of
developers.openai.com/docs (CODEX_HOME), packages/core/src/utils/paths.ts of Gemini CLI (GEMINI_CLI_HOME in place
of the home directory), opencode.ai/docs/config (the documents name ~/.config only; the program takes XDG_CONFIG_HOME),
cursor.com/docs/skills, docs.github.com/copilot/reference/copilot-cli-reference/cli-config-dir-reference (COPILOT_HOME),
moonshotai.github.io/kimi-code/en/configuration/data-locations (KIMI_CODE_HOME),
docs.specstory.com/integrations/grok-build (GROK_HOME). The directories of pi, qwen and iflow are not verified: nothing
is installed there.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

_SCOPE: Final = re.compile(r"@[a-z0-9][a-z0-9._-]*/")  # of a package of npm
_XDG = "XDG_CONFIG_HOME"
_LLM_DIRECTORY = (  # as the library click finds it
    "Library/Application Support/io.datasette.llm" if sys.platform == "darwin" else ".config/io.datasette.llm"
)


class Agent(NamedTuple):
    """A program that writes transcripts or reads configuration of ours.

    name: the name of its transcript format, and of it as a target of commands
    title: its name as people write it
    program: what is looked for in PATH; None if it is not started in a terminal
    directory: its configuration, from the home directory
    variable: the environment variable that moves the directory; None if there is none
    below: the end of `directory` that is also below the directory that the variable names
    others: the names that it has in the Agent Client Protocol, as an author, or in other programs
    """

    name: str
    title: str
    program: str | None
    directory: str
    variable: str | None = None
    below: str = ""
    others: tuple[str, ...] = ()


class UserDirectories(NamedTuple):
    """Where configuration is written: the home directory, that of the project, and the variables that move others."""

    home: str
    project: str
    environ: Mapping[str, str]


AGENTS: Mapping[str, Agent] = MappingProxyType(
    {
        agent.name: agent
        for agent in (
            Agent(
                "claude-code",
                "Claude Code",
                "claude",
                ".claude",
                "CLAUDE_CONFIG_DIR",
                others=("claude", "claude_code", "claude-code-acp", "claude-agent-acp"),
            ),
            Agent("codex", "Codex", "codex", ".codex", "CODEX_HOME", others=("codex-acp", "codex-cli")),
            Agent("gemini", "Gemini CLI", "gemini", ".gemini", "GEMINI_CLI_HOME", ".gemini", ("gemini-cli",)),
            Agent("cursor", "Cursor", None, ".cursor"),
            Agent("opencode", "OpenCode", "opencode", ".config/opencode", _XDG, "opencode"),
            Agent("pi", "pi", "pi", ".pi/agent", "PI_CODING_AGENT_DIR"),
            Agent("llm", "llm", "llm", _LLM_DIRECTORY, "LLM_USER_PATH"),
            Agent("qwen", "Qwen Code", "qwen", ".qwen", others=("qwen-code",)),
            Agent("copilot-cli", "Copilot CLI", "copilot", ".copilot", "COPILOT_HOME"),
            Agent("iflow", "iFlow", "iflow", ".iflow"),
            Agent("kimi", "Kimi Code", "kimi", ".kimi-code", "KIMI_CODE_HOME"),
            Agent("grok", "Grok", "grok", ".grok", "GROK_HOME"),
        )
    }
)


def find_agent_named(name: str) -> Agent | None:
    """Return the agent with a name, in any case and with blanks or hyphens; None if it is not in the table.

    The name may be that of an npm package with its scope, as adapters of the Agent Client Protocol call themselves.
    """
    folded = _SCOPE.sub("", name.strip().casefold().replace(" ", "-"))
    return next((agent for agent in AGENTS.values() if folded in {agent.name, *agent.others}), None)


def target_named(name: str) -> str:
    """Return the name in the table of an agent that is given by one of its names; other names unchanged."""
    agent = find_agent_named(name)
    return name if agent is None else agent.name


def import_hint(name: str) -> str:
    """Return how a session of an agent gets into the store."""
    agent = AGENTS.get(name)
    if agent is None or agent.program is None:
        return "import its transcript: scopes import FILE"
    return "import it: scopes import"


def moved_directory(agent: Agent, environ: Mapping[str, str]) -> str | None:
    """Return the configuration directory of an agent that a variable names; None if none does.

    A relative value of an XDG variable is ignored, as the XDG Base Directory Specification asks.
    """
    top = environ.get(agent.variable, "") if agent.variable is not None else ""
    is_xdg = agent.variable is not None and agent.variable.startswith("XDG_")
    if not top or (is_xdg and not os.path.isabs(top)):
        return None
    return os.path.join(top, agent.below) if agent.below else top


def config_directory(agent: Agent, environ: Mapping[str, str], home: str) -> str:
    """Return the configuration directory of an agent."""
    return moved_directory(agent, environ) or os.path.join(home, *agent.directory.split("/"))


def find_program(program: str, path: str | None) -> str | None:
    """Return the absolute path of a program in PATH; None if it is not there.

    Only absolute directories are searched: the current one may be a project that somebody else wrote.
    """
    for directory in (path or "").split(os.pathsep):
        file = os.path.join(directory, program)
        if os.path.isabs(directory) and os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    return None
