"""Taking times: both sides alternate and the best of several runs counts, because noise only adds time."""

from __future__ import annotations

import gc
import math
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Action = Callable[[], float]
"""One repetition; it returns what it measured, so that its preparation does not count."""


@dataclass(frozen=True)
class Samples:
    """The repetitions of one side, in seconds (or in whatever the row counts)."""

    values: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.values)

    @property
    def median(self) -> float:
        return statistics.median(self.values)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One operation and its reference; `budget` bounds their ratio, from below if more is better."""

    operation: str
    ours: Samples
    reference: Samples
    against: str
    budget: float | None = None
    unit: str = "ms"
    more_is_better: bool = False

    @property
    def ratio(self) -> float:
        return self.ours.best / self.reference.best if self.reference.best else math.inf

    @property
    def met(self) -> bool | None:
        if self.budget is None:
            return None
        return self.ratio >= self.budget if self.more_is_better else self.ratio <= self.budget


def by_turns(repetitions: int, *actions: Action) -> list[Samples]:
    """Run all actions in turn, repeatedly, after one turn that only warms the caches."""
    for action in actions:
        action()
    turns = [[action() for action in actions] for _ in range(repetitions)]
    return [Samples(values) for values in zip(*turns, strict=True)]


def wall(action: Callable[[], object]) -> float:
    """Return the seconds that an action takes; garbage is collected first."""
    gc.collect()
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def process_cpu(command: Sequence[str], environment: Mapping[str, str], source: str | None = None) -> float:
    """Run a process and return the processor seconds, user and system, that it and its children took."""
    before = children_cpu()
    run(command, environment, source)
    return children_cpu() - before


def cpu(action: Callable[[], object]) -> float:
    """Return the processor seconds that an action and the processes it waits for take; garbage is collected first."""
    gc.collect()
    begin = time.process_time() + children_cpu()
    action()
    return time.process_time() + children_cpu() - begin


def process_wall(command: Sequence[str], environment: Mapping[str, str], source: str | None = None) -> float:
    """Run a process and return the seconds until it has ended."""
    return wall(lambda: run(command, environment, source))


def run(command: Sequence[str], environment: Mapping[str, str], source: str | None = None) -> bytes:
    """Run a process, with a file as standard input if one is given, and return its output.

    Raises:
        RuntimeError: the process failed.
    """
    with open(source or "/dev/null", "rb") as stdin:
        done = subprocess.run(command, env=environment, stdin=stdin, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def children_cpu() -> float:
    """Return the processor seconds, user and system, of the processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
