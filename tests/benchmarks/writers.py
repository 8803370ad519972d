"""Eight processes append to one branch at once: the time they take, and that no message is lost.

`python -m tests.benchmarks.writers STORE NAME COUNT` is one of these processes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from scopes.conversation.append import append
from scopes.conversation.log import log
from scopes.history.messages import plain_message
from tests.benchmarks.timing import Row, Samples, by_turns, wall
from tests.benchmarks.workspace import Workspace
from tests.support.store import FULL, open_store

_WRITERS = 8


def measure(work: Workspace) -> Iterator[Row]:
    """Yield the seconds of eight writers compared with one, and the stored messages compared with the reported ones."""
    race = Race(work)
    each, total = work.amount(100), _WRITERS * work.amount(100)
    ours, alone = by_turns(work.repetitions(3), lambda: race.run(_WRITERS, each), lambda: race.run(1, total))
    yield Row(
        operation=f"{_WRITERS} writers x {each} appends, synced",
        ours=ours,
        reference=alone,
        against=f"1 writer x {total}",
    )
    yield Row(
        operation=f"{_WRITERS} writers: messages kept in the worst run",
        ours=Samples((race.fewest,)),
        reference=Samples((total,)),
        against="reported",
        budget=1.0,
        unit="",
        more_is_better=True,
    )


class Race:
    """Writers in separate processes; `fewest` counts the kept messages of the worst run so far."""

    def __init__(self, work: Workspace) -> None:
        self._work = work
        self._base = work.store_of(1, 1000)
        self.fewest = sys.maxsize

    def run(self, writers: int, each: int) -> float:
        store = self._work.copy(self._base)
        before = _message_ids(store)
        reported: list[str] = []
        seconds = wall(lambda: reported.extend(self._write(store, writers, each)))
        self.fewest = min(self.fewest, len((_message_ids(store) - before) & set(reported)))
        return seconds

    def _write(self, store: str, writers: int, each: int) -> list[str]:
        command = [sys.executable, "-m", "tests.benchmarks.writers", store]
        processes = [
            subprocess.Popen(
                [*command, f"writer-{number}", str(each)], env=self._work.environment, stdout=subprocess.PIPE, text=True
            )
            for number in range(writers)
        ]
        return [line for process in processes for line in process.communicate()[0].splitlines()]


def _message_ids(store: str) -> set[str]:
    return {entry.head.id for entry in log(open_store(store, FULL), "conv-001", bodies=False).items}


def write(store: str, name: str, count: int) -> None:
    """Append that many messages and print the id of each once it is on the disk."""
    repository = open_store(store, FULL)
    for number in range(count):
        print(append(repository, "conv-001", plain_message(name, f"message {number}")).id, flush=True)


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], int(sys.argv[3]))
