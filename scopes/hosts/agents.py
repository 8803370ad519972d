"""The agents that scopes knows: their names, their programs, and where each keeps its configuration.

This is the one table of them. What is special to a verb stays with the verb, under the name of the agent: hooks in
`agent_hooks`, servers in `mcp_servers`, commands in `handover.agent_programs`, variables of shells in
`code_links.agent_environment`, folders of transcripts in the formats.

Sources: code.claude.com/docs/en/env-vars (CLAUDE_CONFIG_DIR), the page config-file/environment-variables of
developers.openai.com/docs (CODEX_HOME), packages/core/src/utils/paths.ts of Gemini CLI (GEMINI_CLI_HOME in place
of the home directory), opencode.ai/docs/config (the documents name ~/.config only; the program takes XDG_CONFIG_HOME),
cursor.com/docs/skills, docs.github.com/copilot/reference/copilot-cli-reference/cli-config-dir-reference (COPILOT_HOME),
moonshotai.github.io/kimi-code/en/configuration/data-locations (KIMI_CODE_HOME),
openhands_cli/locations.py of OpenHands-CLI (OPENHANDS_PERSISTENCE_DIR), docs.specstory.com/integrations/grok-build
(GROK_HOME), docs/configuration/settings.md of Qwen Code (QWEN_HOME), the
README of pi (PI_CODING_AGENT_DIR), click.get_app_dir (llm). The directory of iflow is not verified.
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
_BASES = (  # the beginnings of directories that variables of the operating system move
    (".config/", "XDG_CONFIG_HOME"),
    (".local/share/", "XDG_DATA_HOME"),
    ("AppData/Roaming/", "APPDATA"),
    ("AppData/Local/", "LOCALAPPDATA"),
)
_MUST_BE_ABSOLUTE = frozenset(variable for _, variable in _BASES)


class Agent(NamedTuple):
    """A program that writes transcripts or reads configuration of ours.

    name: the name of its transcript format, and of it as a target of commands
    title: its name as people write it
    program: what is looked for in PATH; None if it is not started in a terminal
    directory: its configuration, from the home directory
    variable: the environment variable that moves the directory; None if there is none
    below: the end of `directory` that is also below the directory that the variable names
    elsewhere: the directory on operating systems where it is another one, by `sys.platform`
    others: the names that it has in the Agent Client Protocol, as an author, or in other programs
    """

    name: str
    title: str
    program: str | None
    directory: str
    variable: str | None = None
    below: str = ""
    others: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = MappingProxyType({})

    def directory_on(self, platform: str) -> str:
        """Return the configuration directory on an operating system, from the home directory."""
        return self.elsewhere.get(platform, self.directory)


class UserDirectories(NamedTuple):
    """Where configuration is written: the home directory, that of the project, and the variables that move others."""

    home: str
    project: str
    environ: Mapping[str, str]


_LLM_ELSEWHERE = {  # as the library click finds it
    "darwin": "Library/Application Support/io.datasette.llm",
    "win32": "AppData/Roaming/io.datasette.llm",
}
_MINI_ELSEWHERE = {  # as the library platformdirs finds it
    "darwin": "Library/Application Support/mini-swe-agent",
    "win32": "AppData/Local/mini-swe-agent/mini-swe-agent",
}
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
            Agent("llm", "llm", "llm", ".config/io.datasette.llm", "LLM_USER_PATH", elsewhere=_LLM_ELSEWHERE),
            Agent(
                "mini-swe-agent",
                "mini-swe-agent",
                "mini",
                ".config/mini-swe-agent",
                "MSWEA_GLOBAL_CONFIG_DIR",
                elsewhere=_MINI_ELSEWHERE,
            ),
            Agent("qwen", "Qwen Code", "qwen", ".qwen", "QWEN_HOME", others=("qwen-code",)),
            Agent("copilot-cli", "Copilot CLI", "copilot", ".copilot", "COPILOT_HOME"),
            Agent("iflow", "iFlow", "iflow", ".iflow"),
            Agent("kimi", "Kimi Code", "kimi", ".kimi-code", "KIMI_CODE_HOME"),
            Agent("grok", "Grok", "grok", ".grok", "GROK_HOME"),
            Agent("openhands", "OpenHands", "openhands", ".openhands", "OPENHANDS_PERSISTENCE_DIR"),
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
    return "import it: scopes import" if name in AGENTS else "import its transcript: scopes import FILE"


def moved_directory(agent: Agent, environ: Mapping[str, str], platform: str = sys.platform) -> str | None:
    """Return the configuration directory of an agent that a variable names; None if none does.

    A relative value of an XDG variable is ignored, as the XDG Base Directory Specification asks.
    """
    directory = agent.directory_on(platform)
    moves = [] if agent.variable is None else [(agent.variable, agent.below)]
    moves += [(variable, directory[len(start) :]) for start, variable in _BASES if directory.startswith(start)]
    for variable, below in moves:
        top = environ.get(variable, "")
        if top and (os.path.isabs(top) or variable not in _MUST_BE_ABSOLUTE):
            return os.path.join(top, *below.split("/")) if below else top
    return None


def config_directory(agent: Agent, environ: Mapping[str, str], home: str, platform: str = sys.platform) -> str:
    """Return the configuration directory of an agent."""
    moved = moved_directory(agent, environ, platform)
    return moved or os.path.join(home, *agent.directory_on(platform).split("/"))


def find_program(program: str, path: str | None) -> str | None:
    """Return the absolute path of a program in PATH; None if it is not there.

    Only absolute directories are searched: the current one may be a project that somebody else wrote.
    """
    for directory in (path or "").split(os.pathsep):
        file = os.path.join(directory, program)
        if os.path.isabs(directory) and os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    return None
