"""How the program of each agent is started in a terminal: with a session of its own, or with a first prompt.

The options are those of the versions named here, from their help.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from scopes.errors import Invalid
from scopes.hosts.agents import AGENTS, find_agent_named

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")  # nothing that a program takes for an option or a path


class AgentProgram(NamedTuple):
    """The program of an agent.

    name: the name of the agent.
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


def _program(name: str, resume: tuple[str, ...], prompt: str, *, by_directory: bool) -> AgentProgram:
    return AgentProgram(name, AGENTS[name].program or name, resume, prompt, by_directory)


PROGRAMS: Mapping[str, AgentProgram] = {
    program.name: program
    for program in (
        _program("claude-code", ("--resume",), "--", by_directory=True),  # code.claude.com/docs/en/cli-reference
        _program("codex", ("resume",), "--", by_directory=False),  # 0.169.0
        _program("gemini", ("--resume",), "--prompt-interactive=", by_directory=True),  # 0.61.0
        _program("opencode", ("--session",), "--prompt=", by_directory=False),  # 1.18.33
        _program("pi", ("--session",), "", by_directory=True),  # 0.73.1
        _program("qwen", ("--resume",), "--prompt-interactive=", by_directory=True),  # 0.15.10
    )
}


def session_words(name: str, session: str) -> list[str]:
    """Return the words that go on with a session of an agent in a terminal.

    Raises:
        Invalid: the agent cannot be started, or the id of the session could be taken for something else.
    """
    if name == "llm":
        return ["llm", "chat", "--cid", session]  # 0.36
    words = read_agent_program(name).resume_words(session)
    if words is None:
        raise Invalid(f"the id {session!a} of the session is not valid")
    return words


def read_agent_program(name: str) -> AgentProgram:
    """Return the program of an agent by one of its names.

    Raises:
        Invalid: there is none; the hint lists them.
    """
    known = find_agent_program(name)
    if known is None:
        raise Invalid(f"{name!a} is not an agent that can be started", hint=f"agents: {', '.join(PROGRAMS)}")
    return known


def find_agent_program(name: str | None) -> AgentProgram | None:
    """Return the program of the agent with this name, in any case; None if there is none."""
    agent = find_agent_named(name or "")
    return None if agent is None else PROGRAMS.get(agent.name)
