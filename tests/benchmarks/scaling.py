"""How time and memory of commands grow with the store: a store with ten times as many messages is the measure.

Every command is a process of its own. Its memory is the highest resident size, with the parts of pack files that it has
mapped; its time is processor time. A command is linear if ten times the messages take about ten times as long.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

from tests.benchmarks.timing import Row, Samples, run
from tests.benchmarks.workspace import Workspace

_MEAN_TEXT_BYTES = 300
_MESSAGES = 100  # of a conversation
_MEGABYTES = 150  # that `memory update` of the larger store may take
_PROGRAM = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


class _Command(NamedTuple):
    """A command, and the budgets of the ratios of its time and its memory in the larger store to the smaller one."""

    words: tuple[str, ...]
    time_budget: float = 13.0
    has_memory_budget: bool = False


_COMMANDS = (
    _Command(("memory", "update", "--quiet"), has_memory_budget=True),
    _Command(("show", "conv-001")),
    _Command(("verify",)),
    _Command(("gc",)),
)


def measure(work: Workspace) -> Iterator[Row]:
    """Yield time and memory of each command in a store of 100,000 messages, compared with one of 10,000."""
    small, large = (work.store_of(count, _MESSAGES, _MEAN_TEXT_BYTES) for count in (100, 1000))
    amounts = [f"{work.amount(count) * _MESSAGES:,}" for count in (1000, 100)]
    for command in _COMMANDS:
        used = [[_run(work, store, command.words) for _ in range(work.repetitions(2))] for store in (large, small)]
        seconds, megabytes = ([Samples(tuple(each[at] for each in runs)) for runs in used] for at in (0, 1))
        name = f"{' '.join(command.words)}, {amounts[0]} messages"
        yield Row(
            operation=name,
            ours=seconds[0],
            reference=seconds[1],
            against=f"{amounts[1]} messages",
            budget=command.time_budget,
        )
        yield Row(
            operation=f"{name}: memory",
            ours=megabytes[0],
            reference=Samples((float(_MEGABYTES),)) if command.has_memory_budget else megabytes[1],
            against="the budget" if command.has_memory_budget else f"{amounts[1]} messages",
            budget=1.0 if command.has_memory_budget else None,
            unit="MB",
        )


def _run(work: Workspace, store: str, words: tuple[str, ...]) -> tuple[float, float]:
    """Run a command in a copy of a store; return its processor seconds and the highest number of megabytes."""
    command = [sys.executable, "-c", _PROGRAM, sys.executable, "-m", "scopes", *words]
    seconds, megabytes = run(command, work.using(work.copy(store))).split()
    return float(seconds), float(megabytes)
