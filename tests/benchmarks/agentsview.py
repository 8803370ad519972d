"""A reader of the same transcripts to measure beside: agentsview, where it is installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tests.benchmarks.measuring import run
from tests.benchmarks.workplace import Workplace

FIND = "SCOPES_TEST_AGENTSVIEW"


class Agentsview(NamedTuple):
    """How it is called, with its data in a directory of its own."""

    program: str
    environment: dict[str, str]


def find_program() -> str | None:
    """Return where it is installed; None where it is not."""
    return os.environ.get(FIND) or shutil.which("agentsview")


@contextmanager
def agentsview(work: Workplace, folder: str) -> Iterator[Agentsview | None]:
    """Let it read a folder of transcripts, and run its daemon, without which it does not search; None where it is not."""
    program = find_program()
    if program is None:
        work.notes.append(f"beside agentsview: not installed ({FIND} names the program)")
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
