"""The programs of agents: how each is started in a terminal, with a session of its own or with a first prompt.

The words are those of the versions named here, from their help.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from scopes.errors import Invalid
from scopes.importers.agent_names import format_of_agent

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")  # nothing that a program takes for an option or a path


class AgentProgram(NamedTuple):
    """The program of an agent.

    name: the name of its transcript format.
    program: what is looked for in PATH.
    resume: the words before the id of a session that is opened.
    prompt: the option before a first prompt, with `=`; `--` if the prompt is an argument; empty if that has no mark.
    by_directory: True if it finds a session only from the directory that the session began in.
    """

    name: str
    program: str
    resume: tuple[str, ...]
    prompt: str
    by_directory: bool

    def resume_words(self, session: str) -> list[str] | None:
        """Return the words that open a session; None if its id could be taken for something else."""
        return [self.program, *self.resume, session] if _SESSION.match(session) else None

    def prompt_words(self, prompt: str) -> list[str]:
        """Return the words that follow for a first prompt; none for an empty one."""
        if not prompt:
            return []
        if self.prompt.endswith("="):
            return [self.prompt + prompt]
        if self.prompt:
            return [self.prompt, prompt]
        return [f" {prompt}" if prompt.startswith(("-", "@")) else prompt]


AGENTS: Mapping[str, AgentProgram] = {
    agent.name: agent
    for agent in (
        AgentProgram("claude-code", "claude", ("--resume",), "--", True),  # code.claude.com/docs/en/cli-reference
        AgentProgram("codex", "codex", ("resume",), "--", False),  # 0.169.0
        AgentProgram("gemini", "gemini", ("--resume",), "--prompt-interactive=", True),  # 0.61.0
        AgentProgram("opencode", "opencode", ("--session",), "--prompt=", False),  # 1.18.33
        AgentProgram("pi", "pi", ("--session",), "", True),  # 0.73.1
        AgentProgram("qwen", "qwen", ("--resume",), "--prompt-interactive=", True),  # 0.15.10
    )
}


def find_agent(name: str) -> AgentProgram:
    """Return an agent by one of its names.

    Raises:
        Invalid: there is none; the hint lists them.
    """
    known = match_agent(name)
    if known is None:
        raise Invalid(f"{name!a} is not an agent that can be started", hint=f"agents: {', '.join(AGENTS)}")
    return known


def match_agent(name: str | None) -> AgentProgram | None:
    """Return the agent with this name, in any case; None if there is none."""
    return AGENTS.get(format_of_agent(name or "") or "")


def find_program(program: str, path: str | None) -> str | None:
    """Return the absolute path of a program in PATH; None if it is not there.

    Only absolute directories are searched: the current one may be a project that somebody else wrote.
    """
    for directory in (path or "").split(os.pathsep):
        file = os.path.join(directory, program)
        if os.path.isabs(directory) and os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    return None
