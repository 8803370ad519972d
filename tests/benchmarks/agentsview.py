"""agentsview, another reader of the same transcripts, as a reference where it is installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tests.benchmarks.timing import run
from tests.benchmarks.workspace import Workspace

FIND = "SCOPES_TEST_AGENTSVIEW"


class Agentsview(NamedTuple):
    """The program and its environment, with its own data directory."""

    program: str
    environment: dict[str, str]


def find_program() -> str | None:
    """Return the path of the program; None if it is not installed."""
    return os.environ.get(FIND) or shutil.which("agentsview")


@contextmanager
def agentsview(work: Workspace, folder: str) -> Iterator[Agentsview | None]:
    """Sync a folder of transcripts and run the daemon, which searches need; None if it is not installed."""
    program = find_program()
    if program is None:
        work.notes.append(f"against agentsview: not installed ({FIND} names the program)")
        yield None
        return
    environment = work.environment | {
        "AGENTSVIEW_DATA_DIR": work.new_path("agentsview"),
        "AGENTSVIEW_TELEMETRY_ENABLED": "false",
        "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1",
        "CLAUDE_PROJECTS_DIR": os.path.join(folder, "claude-code"),
        "CODEX_SESSIONS_DIR": os.path.join(folder, "codex"),
    }
    run([program, "sync"], environment | {"AGENTSVIEW_NO_DAEMON": "1"})
    run([program, "daemon", "start"], environment)
    try:
        yield Agentsview(program, environment)
    finally:
        run([program, "daemon", "stop"], environment)
