"""Give a session to an agent that keeps its sessions in a database: its own import puts it there."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from tempfile import NamedTemporaryFile

from scopes.child_process import CommandFailed, CommandLimits, run_command
from scopes.errors import NotFound, Refused
from scopes.hosts.agents import AGENTS, find_program
from scopes.secret_scan.clearance import Cleared

_LIMITS = CommandLimits(300, 1 << 20)


def import_with_program(name: str, content: Cleared, directory: str, environ: Mapping[str, str]) -> None:
    """Run the import of an agent on a session, in the directory where the agent is to work.

    Raises:
        NotFound: its program is not in PATH.
        Refused: the import fails.
    """
    agent = AGENTS[name]
    program = find_program(agent.program or name, environ.get("PATH"))
    if program is None:
        raise NotFound(
            f"{agent.program or name} is not in PATH", hint="its own import puts the session into its database"
        )
    with NamedTemporaryFile(prefix="scopes-", suffix=".json") as file:
        file.write(content.data)
        file.flush()
        command = f"cd {shlex.quote(directory)} && exec {shlex.join([program, 'import', file.name])}"
        try:
            run_command(command, b"", _LIMITS, environ=dict(environ) if environ is not os.environ else None)
        except CommandFailed as error:
            raise Refused(f"the import of {agent.title} {error}", hint="repeat it, or see it: --print") from error
