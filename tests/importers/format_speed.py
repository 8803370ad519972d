"""How many megabytes of a format are imported in a second of processor time, here and by agentsview.

Of each format, a session of the folder is copied under other ids until there is enough of it.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from scopes.importers.formats.base import choose_format, read_session
from scopes.importers.formats.registry import FORMATS
from tests.benchmarks.agentsview import find_program
from tests.importers.reading import source_of

_MEGABYTE = 1_000_000
_ENOUGH = 4 * _MEGABYTE
_MAX_COPIES = 1000
_RUNS = 2
_CHANGED = 8  # characters of an id
_QUERY = "select count(*) from sessions"


class Material(NamedTuple):
    """Sessions of a format.

    sample: the session of the folder that is copied
    place: where the agent keeps it, from the home directory; `{}` is the id, or the number of the copy
    """

    format: str
    sample: str
    place: str


MATERIALS = (
    Material("claude-code", "claude-code/v2.1.7_3compactions_6interrupts.jsonl", ".claude/projects/p/{}.jsonl"),
    Material("codex", "codex/v0.118_big_compacted_aborted_concat.jsonl", ".codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-{}.jsonl"),
    Material("gemini", "gemini-cli/gen_v0.61_2-after-resume/session-2026-11-21T06-53-2281852c.jsonl", ".gemini/tmp/p/chats/session-2026-01-01T00-00-{}.jsonl"),
    Material("gemini (one object)", "gemini-cli/real_2026-01-15_f7633853_9c-53780d06b7-0.json", ".gemini/tmp/p/chats/session-2026-01-01T00-00-{}.json"),
    Material("opencode", "opencode/gen_v1.18.33_opencode.db", ".local/share/opencode/opencode.db"),
    Material("qwen", "qwen-code/gen_v0.15_973ee02d-7ffa-47c0-8b9b-b6380542994e.jsonl", ".qwen/projects/p/chats/{}.jsonl"),
    Material("pi", "pi/gen_v0.73_2026-11-21T06-52-25-585Z_01a1fce0-ae71-7260-a965-679ce323983b.jsonl", ".pi/agent/sessions/p/2026-01-01T00-00-00-000Z_{}.jsonl"),
    Material("copilot-cli", "copilot-cli/small.jsonl", ".copilot/session-state/{}/events.jsonl"),
    Material("iflow", "iflow/session-5de701fc.jsonl", ".iflow/projects/p/{}.jsonl"),
    Material("kimi", "kimi/assistant_tools.jsonl", ".kimi-code/sessions/p/{}/context.jsonl"),
    Material("llm", "llm/gen_v0.36_logs.db", ".config/io.datasette.llm/logs.db"),
    Material("aider", "aider/paul-gauthier_chat-history.md", "work/.aider.chat.history.md"),
    Material("openai-messages", "openai-messages/tau-bench_gpt-4o-airline.json", "work/runs.json"),
    Material("swe-agent", "swe-agent/fc_replace_marshmallow-code__marshmallow-1867.traj", "work/run.traj"),
    Material("mini-swe-agent", "mini-swe-agent/gen_v2_trajectory.traj.json", ".config/mini-swe-agent/last_mini_run.traj.json"),
    Material("specstory", "specstory/v2.1.0_claude_1.2MB.md", "work/.specstory/history/a.md"),
)  # fmt: skip


def speed_rows(folder: str) -> Iterator[str]:
    """Yield a row for each format; times are processor time, the best of some runs."""
    program = find_program()
    yield "| format | files | MB | MB/s | conversations | agentsview MB/s | its sessions |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for material in MATERIALS:
        with tempfile.TemporaryDirectory() as home:
            files, size = copy_sessions(Path(folder, material.sample), Path(home), material.place)
            ours, count = min(_import(home, run) for run in range(_RUNS))
            row = [material.format, str(files), f"{size / _MEGABYTE:.1f}", _rate(size, ours), str(count)]
            others = [] if program is None else [_sync(program, home, run) for run in range(_RUNS)]
            theirs, sessions = min(others, default=(0.0, 0))
            yield f"| {' | '.join([*row, _rate(size, theirs) if sessions else '-', str(sessions)])} |"


def copy_sessions(sample: Path, home: Path, place: str) -> tuple[int, int]:
    """Write copies of a session under other ids to a home directory; return their number and size."""
    data = sample.read_bytes()
    name = _id_of(sample) if "{}" in place else ""
    copies = max(1, min(_MAX_COPIES, _ENOUGH // len(data))) if name and name.encode() in data else 1
    for number in range(copies):
        other = f"{name[:-_CHANGED]}{number:0{_CHANGED}x}" if copies > 1 else name
        path = home / place.format(other or number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.replace(name.encode(), other.encode()) if copies > 1 else data)
    return copies, copies * len(data)


def _id_of(sample: Path) -> str:
    source = source_of(sample)
    session = read_session(choose_format(FORMATS, source), source)
    return "" if session is None else session.native_id


def _import(home: str, run: int) -> tuple[float, int]:
    """Import everything in a home directory into a new store; return the processor time and the conversations."""
    store = os.path.join(home, f"{run}.git")
    command = [sys.executable, "-m", "scopes", "--store", store, "import", "--no-join"]
    work = os.path.join(home, "work")
    seconds, output = _timed([*command, work] if os.path.isdir(work) else command, _environment(home))
    return seconds, len(output.splitlines())


def _sync(program: str, home: str, run: int) -> tuple[float, int]:
    """Let agentsview read a home directory; return the processor time and the sessions."""
    data = os.path.join(home, f"agentsview-{run}")
    settings = {"AGENTSVIEW_DATA_DIR": data, "AGENTSVIEW_NO_DAEMON": "1", "AGENTSVIEW_TELEMETRY_ENABLED": "false"}
    work = {"AIDER_DIR": os.path.join(home, "work")} if os.path.isdir(os.path.join(home, "work")) else {}
    environment = {**_environment(home), **settings, **work, "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1"}
    seconds, _ = _timed([program, "sync"], environment)
    script = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])"
    done = subprocess.run(
        [sys.executable, "-c", script, os.path.join(data, "sessions.db"), _QUERY],
        capture_output=True,
        text=True,
        check=True,
    )
    return seconds, int(done.stdout)


def _environment(home: str) -> Mapping[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": home, "PYTHONPATH": os.getcwd()} | {
        name: value for name, value in os.environ.items() if name.startswith("SSL_")
    }


def _timed(command: list[str], environment: Mapping[str, str]) -> tuple[float, str]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in {0, 1}:
        raise AssertionError(f"{command}: {done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def _rate(size: int, seconds: float) -> str:
    return f"{size / _MEGABYTE / seconds:.1f}" if seconds else "-"
