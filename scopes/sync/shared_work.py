"""Divide the check of fetched objects among the processors of this machine.

The parts run in forked processes, which read the same data as this process and write nothing. With few items, one
processor, threads, or on a system where processes should not be forked, everything runs in this process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from scopes.errors import Inaccessible
from scopes.store.repository import Repository

Item = TypeVar("Item")
Found = TypeVar("Found")

MANY_OBJECTS: Final = 4000  # checking fewer takes less time than starting processes
_PARTS_PER_WORKER: Final = 3  # so that one long part does not keep the others waiting


def work_in_parts(
    repository: Repository, work: Callable[[Sequence[Item]], Found], items: Sequence[Item], *, objects: int
) -> list[Found]:
    """Call `work` for each part of the items, and return its results in the order of the parts.

    work: its results must be picklable
    objects: how many objects it reads for all items together

    Raises:
        Exception: what the first failed part raised.
    """
    workers = min(_count_workers(repository), len(items)) if objects >= MANY_OBJECTS else 1
    if workers > 1 and not _has_threads():
        size = -(-len(items) // (_PARTS_PER_WORKER * workers))
        parts = [items[start : start + size] for start in range(0, len(items), size)]
        try:
            return _work_in_processes(work, parts, workers)
        except Inaccessible:
            pass  # no process can be started, or one was killed: memory may be short
    return [work(items)]


def _work_in_processes(
    work: Callable[[Sequence[Item]], Found], parts: Sequence[Sequence[Item]], workers: int
) -> list[Found]:
    from scopes.importers.workers import walk_results

    found: dict[int, Found] = dict(walk_results(lambda number: (number, work(parts[number])), len(parts), workers))
    return [found[number] for number in range(len(parts))]


def _has_threads() -> bool:
    return threading.active_count() > 1


def _count_workers(repository: Repository) -> int:
    from scopes.importers.workers import count_workers

    count: int = count_workers(repository)
    return count
