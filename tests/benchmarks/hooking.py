"""What hooks cost: an agent that waits for one, a commit, and the import of one session into a large store.

The agent's side is compared with an interpreter that does nothing; the import with the same one into a small store.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from functools import partial

from scopes.hosts.program import program_words
from scopes.live.event_log import HOOK_LOG, read_events
from scopes.store.projects import state_directory
from tests.benchmarks import turn_ends
from tests.benchmarks.timing import Row, by_turns, process_cpu, process_wall
from tests.benchmarks.transcripts import drawn_session
from tests.benchmarks.workspace import Workspace

_NOTHING = "the interpreter alone, python -c pass"
_SMALL, _LARGE = 100, 10_000
_RUNS = 20
_SECONDS = 20
_AGENTS = ("claude-code", "codex", "gemini")


def measure(work: Workspace) -> Iterator[Row]:
    """Yield the agent's side of each hook, also in a long session, a commit with the hook of git, and imports of one session."""
    yield from _measure_agents(work)
    yield from turn_ends.measure(work, _LARGE)
    yield from _measure_commits(work)
    yield from _measure_imports(work)


def _measure_agents(work: Workspace) -> Iterator[Row]:
    """Yield processor time and wall time that an agent waits for, with stores of several sizes."""
    session = _Session(work, 0)
    stores = {0: work.path("no-store.git"), 1000: work.store_of(1000, 1), _LARGE: work.store_of(_LARGE, 1)}
    alone = [*program_words()[:-1], "-c", "pass"]
    for agent, amount in [(_AGENTS[0], amount) for amount in stores] + [(agent, _LARGE) for agent in _AGENTS[1:]]:
        environment = work.using(stores[amount]) | {"XDG_STATE_HOME": work.path("state")}
        hook = [*program_words(), "hooks", "run", agent]
        for what, take in (("", process_cpu), (", wall", process_wall)):
            ours, nothing = by_turns(
                work.repetitions(_RUNS),
                partial(_run_hook, take, hook, environment, session.hook_input(work)),
                partial(take, alone, environment),
            )
            size = f"{work.amount(amount):,} conversations" if amount else "no store"
            yield Row(
                operation=f"hooks run {agent}, {size}{what}", ours=ours, reference=nothing, against=_NOTHING,
                budget=1.5 if take is process_cpu else None,
            )  # fmt: skip


def _run_hook(take, hook, environment: Mapping[str, str], source: str) -> float:
    """Return what the agent waits for; the process that records has ended then, so that it takes no time of others."""
    log = state_directory(environment)
    before = len(read_events(log, HOOK_LOG).events)
    taken = take(hook, environment, source=source)
    end = time.monotonic() + _SECONDS
    while len(read_events(log, HOOK_LOG).events) == before and time.monotonic() < end:
        time.sleep(0.02)
    return float(taken)


def _measure_commits(work: Workspace) -> Iterator[Row]:
    environment = {**work.environment, "CLAUDECODE": "1", "GIT_AUTHOR_NAME": "c", "GIT_AUTHOR_EMAIL": "c@c"}
    environment |= {"GIT_COMMITTER_NAME": "c", "GIT_COMMITTER_EMAIL": "c@c"}
    projects = [work.new_path("project") for _ in range(2)]
    for project in projects:
        subprocess.run(["git", "init", "-q", project], check=True, env=environment)
    install = [*program_words(), "setup", "git", "--only", "hooks"]
    subprocess.run(install, check=True, env=environment, cwd=projects[0], capture_output=True)
    commits = [["git", "-C", project, "commit", "-q", "--allow-empty", "-m", "x"] for project in projects]
    for what, take in (("", process_cpu), (", wall", process_wall)):
        ours, plain = by_turns(work.repetitions(_RUNS), *(partial(take, words, environment) for words in commits))
        yield Row(operation=f"git commit with the hook{what}", ours=ours, reference=plain, against="git commit")


def _measure_imports(work: Workspace) -> Iterator[Row]:
    """Yield the processor time of an import of one session that is new, or has grown."""
    sizes = {amount: _Imports(work, work.copy(work.store_of(amount, 1))) for amount in (_SMALL, _LARGE)}
    for what in ("new", "grown"):
        small, large = by_turns(work.repetitions(5), *(getattr(each, what) for each in sizes.values()))
        yield Row(
            operation=f"import of one {what} session into {work.amount(_LARGE):,} conversations",
            ours=large, reference=small, against=f"into {work.amount(_SMALL)}", budget=3,
        )  # fmt: skip


class _Session:
    """A session of Claude Code of a few turns; its number makes it another one."""

    def __init__(self, work: Workspace, number: int) -> None:
        lines = drawn_session(number).data.splitlines(keepends=True)
        self._rest = lines[40:]
        self.path = work.new_path("session") + ".jsonl"
        with open(self.path, "wb") as file:
            file.writelines(lines[:40])

    def grow(self) -> None:
        """Write the next turn."""
        with open(self.path, "ab") as file:
            file.writelines(self._rest[:4])
        del self._rest[:4]

    def hook_input(self, work: Workspace) -> str:
        """Return a file with what an agent tells its hook."""
        path = work.new_path("hook-input")
        document = {"session_id": "s", "transcript_path": self.path, "cwd": work.directory, "hook_event_name": "Stop"}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        return path


class _Imports:
    """Imports of sessions into one store."""

    def __init__(self, work: Workspace, store: str) -> None:
        self._work, self._environment = work, work.using(store)
        self._number = 0
        self._known = self._next()
        self._import(self._known)

    def new(self) -> float:
        """Return the seconds of the import of another session."""
        return self._import(self._next())

    def grown(self) -> float:
        """Return the seconds of an import of the same session with one turn more."""
        self._known.grow()
        return self._import(self._known)

    def _next(self) -> _Session:
        self._number += 1
        return _Session(self._work, self._number)

    def _import(self, session: _Session) -> float:
        return process_cpu([*program_words(), "import", session.path], self._environment)
