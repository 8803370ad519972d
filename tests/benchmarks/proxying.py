"""An agent behind `scopes acp` compared with the agent alone: each prompt, a long answer, a large prompt, the start."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from tests.benchmarks.timing import Row, Samples, by_turns, cpu
from tests.benchmarks.workspace import ROOT, Workspace
from tests.support.acp_client import stub_command

_PROMPTS = 200
_UNIT = "ms."  # one decimal place more than `ms`
_LARGE = 32 << 20
_WAYS = ("direct", "fast", "full")


class _Peer:
    """A process that speaks ACP; the answers are read in this thread."""

    def __init__(self, command: Sequence[str], work: Workspace) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=dict(work.environment)
        )
        self._number = 0

    def ask(self, method: str, params: object) -> tuple[dict, float, float]:
        """Return the answer, and the seconds until the first line and until the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        line = json.dumps(request).encode() + b"\n"
        begin = time.perf_counter()
        self._process.stdin.write(line)
        self._process.stdin.flush()
        first = 0.0
        for received in self._process.stdout:
            first = first or time.perf_counter() - begin
            if received.startswith(b'{"jsonrpc": "2.0", "id"'):
                return json.loads(received), first, time.perf_counter() - begin
        raise EOFError(method)

    def open(self) -> str:
        """Open a session and return its id."""
        self.ask("initialize", {"protocolVersion": 1})
        answer, _, _ = self.ask("session/new", {"cwd": str(ROOT), "mcpServers": []})
        return str(answer["result"]["sessionId"])

    def prompt(self, session: str, text: str) -> tuple[float, float]:
        """Return the seconds until the first line and until the answer of a prompt."""
        return self.ask("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})[1:]

    def close(self) -> None:
        """End the agent."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def measure(work: Workspace) -> Iterator[Row]:
    """Yield the time of a prompt, to its first update and to its answer, and of a large prompt and the start."""
    prompts = 5 if work.quick else _PROMPTS
    (direct, fast, durable) = _measure_prompts(work, prompts)
    against = "the agent alone"
    yield _row("acp: a prompt, to its first update", fast[0], direct[0], against)
    yield _row("acp: a prompt, to its answer, without fsync", fast[1], direct[1], against)
    yield _row("acp: a prompt, to its answer, on disk", durable[1], direct[1], against)
    work.notes.append(
        "acp adds to a prompt, as the median of the differences: "
        f"{_added(fast[0], direct[0])} ms to its first update, {_added(fast[1], direct[1])} ms to its answer, "
        f"{_added(durable[1], direct[1])} ms if that waits for the disk"
    )
    alone, behind = (_processor_times(work, how, prompts) for how in ("direct", "fast"))
    yield _row("acp: processor time of a prompt, in all processes", behind, alone, against)
    size = _LARGE >> 5 if work.quick else _LARGE
    large = [_samples(work, how, lambda peer: peer.prompt(peer.open(), "x" * size)[1]) for how in ("direct", "fast")]
    yield _row(f"acp: a prompt of {size >> 20} MB", large[1], large[0], against)
    starts = [_samples(work, how, lambda peer: peer.ask("initialize", {})[2]) for how in ("direct", "fast")]
    yield _row("acp: start, to the answer of initialize", starts[1], starts[0], against)


def _row(operation: str, ours: Samples, reference: Samples, against: str) -> Row:
    return Row(operation=operation, ours=ours, reference=reference, against=against, unit=_UNIT)


def _added(ours: Samples, reference: Samples) -> str:
    """Return how much more ours takes: what was measured at the same time is compared."""
    return f"{median(mine - other for mine, other in zip(ours.values, reference.values, strict=True)):.2f}"


def _measure_prompts(work: Workspace, prompts: int) -> list[tuple[Samples, Samples]]:
    """Return for each way the medians of the two times of each run, in milliseconds; the ways take turns."""
    firsts: dict[str, list[float]] = {how: [] for how in _WAYS}
    answers: dict[str, list[float]] = {how: [] for how in _WAYS}
    for _ in range(work.repetitions(3)):
        peers = {how: _Peer(_command(work, how), work) for how in _WAYS}
        sessions = {how: peer.open() for how, peer in peers.items()}
        times: dict[str, list[tuple[float, float]]] = {how: [] for how in _WAYS}
        for number in range(prompts):
            for how, peer in peers.items():
                times[how].append(peer.prompt(sessions[how], f"prompt {number}"))
        for how, peer in peers.items():
            peer.close()
            firsts[how].append(1000 * median(first for first, _ in times[how]))
            answers[how].append(1000 * median(answer for _, answer in times[how]))
    return [(Samples(tuple(firsts[how])), Samples(tuple(answers[how]))) for how in _WAYS]


def _processor_times(work: Workspace, how: str, prompts: int) -> Samples:
    """Return the processor time of a prompt in all processes, in milliseconds: that of many less that of one."""

    def ask(count: int) -> None:
        peer = _Peer(_command(work, how), work)
        session = peer.open()
        for number in range(count):
            peer.prompt(session, f"prompt {number}")
        peer.close()

    many, one = by_turns(work.repetitions(3), lambda: cpu(lambda: ask(prompts + 1)), lambda: cpu(lambda: ask(1)))
    return Samples((max(0.0, 1000 * (many.best - one.best) / prompts),))


def _samples(work: Workspace, how: str, measure_one: Callable[[_Peer], float]) -> Samples:
    """Return what was measured with a new process each time, in milliseconds; its start is part of that."""
    found = []
    for _ in range(work.repetitions(3)):
        peer = _Peer(_command(work, how), work)
        found.append(1000 * measure_one(peer))
        peer.close()
    return Samples(tuple(found))


def _command(work: Workspace, how: str) -> list[str]:
    """Return the command of the agent, alone or behind the proxy with a store of its own."""
    agent = stub_command(work.new_path("agent"))
    if how == "direct":
        return agent
    store = work.new_path("recorded")
    return [
        sys.executable, "-m", "scopes", f"--store={store}", "-c", f"scopes.durability={how}", "acp", "--", *agent,
    ]  # fmt: skip
