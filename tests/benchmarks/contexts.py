"""Contexts of 8,000 tokens from a short and a long conversation: the whole process and the operation alone.

The budget is a fixed time: 200 ms for a hundred turns, cold (S1-30). Cold is without any cache; where the encoding is
kept, its tokens were decoded by an earlier process, and nothing was counted yet.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator

from scopes.context.context import context
from scopes.context.count_cache import COUNTS
from scopes.context.request import Request
from scopes.context.work_items import find_work_item
from scopes.tokens.count import RankFilePaths, choose_tokenizer
from tests.benchmarks.stores import open_as_command
from tests.benchmarks.timing import Row, Samples, by_turns, process_wall, wall
from tests.benchmarks.workspace import Workspace
from tests.support.store import FULL, open_store

_BAR = Samples((0.200,))
_AGAINST = "200 ms (S1-30)"
_LONG_BUDGETS = {("estimated", "cold"): 1.0, ("estimated", "counts known"): 0.5, ("exact", "counts known"): 0.5}


def measure(work: Workspace) -> Iterator[Row]:
    """Yield an estimated and an exact context, cold, with the counts known, and from the cache, of both lengths."""
    for messages in (100, 10_000):
        store, amount = work.store_of(1, messages), work.amount(messages)
        for method, packages in (("estimated", ()), ("exact", tuple(filter(None, sys.path)))):
            cache = os.path.join(work.directory, f"cache-{messages}-{method}")
            for state, prepare in _states(cache):
                name = f"context of {amount:,}, {method}, {state}"
                budget = 1.0 if messages == 100 else _LONG_BUDGETS.get((method, state))
                yield _row(work, name, lambda s=store, c=cache, p=packages: _build(s, c, p), prepare, budget)
        command = [sys.executable, "-m", "scopes", "--store", store, "conv", "context", "conv-001", "--quiet"]
        for state, prepare in _states(os.path.join(work.directory, "cache", "scopes")):
            environment = {**work.environment, "XDG_CACHE_HOME": os.path.join(work.directory, "cache")}
            act = lambda c=command, e=environment: process_wall(c, e)  # noqa: E731  timed as it is
            yield _row(work, f"  the whole command, {state}", act, prepare, None, timed=True)
    store, amount = work.store_of(1000, 30, 1000), work.amount(1000)
    name = f"conversations for a work item, of {amount:,}"
    yield _row(work, name, lambda: len(find_work_item(open_store(store, FULL), "SHOP-12")), lambda: None, None)
    find = lambda: len(find_work_item(open_as_command(store), "SHOP-12"))  # noqa: E731  timed as it is
    yield _row(work, "  from the index", find, lambda: None, 1.0)


def _states(cache: str) -> Iterator[tuple[str, Callable[[], None]]]:
    yield "cold", lambda: shutil.rmtree(cache, ignore_errors=True)
    yield "encoding kept", lambda: _forget(cache, "contexts", COUNTS.file)
    yield "counts known", lambda: _forget(cache, "contexts")
    yield "cached", lambda: None


def _forget(cache: str, *names: str) -> None:
    for name in names:
        path = os.path.join(cache, name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.unlink(path)


def _row(
    work: Workspace,
    name: str,
    act: Callable[[], float],
    prepare: Callable[[], None],
    budget: float | None,
    *,
    timed: bool = False,
) -> Row:
    def once() -> float:
        prepare()
        return act() if timed else wall(act)

    [ours] = by_turns(work.repetitions(5), once)
    return Row(operation=name, ours=ours, reference=_BAR, against=_AGAINST, budget=budget)


def _build(store: str, cache: str, packages: tuple[str, ...]) -> int:
    chosen = choose_tokenizer(RankFilePaths(cache, None, packages))
    made = context(open_as_command(store), Request(where="conv-001", max_tokens=8000, project=cache), chosen, cache)
    return made.tokens_used
