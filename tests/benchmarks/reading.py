"""Reading a whole conversation and the end of a long one, compared with git printing the same objects."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator

from scopes.conversation.log import log
from scopes.conversation.show import show
from tests.benchmarks.libgit2_reads import read_chain
from tests.benchmarks.stores import open_as_command
from tests.benchmarks.timing import Row, by_turns, wall
from tests.benchmarks.workspace import Workspace
from tests.support.store import FULL, open_store

_REF = "refs/heads/conv-001/main"


def measure(work: Workspace) -> Iterator[Row]:
    """Yield bodies and commits of a shorter and a longer conversation, then the last 50 messages of both."""
    for messages in (1000, 10_000):
        store = work.store_of(1, messages)
        blobs = ["log", "--format=%H:message.json", _REF]
        commits = ["rev-list", _REF]
        amount = work.amount(messages)
        tip = open_store(store, FULL).find_ref(_REF) or ""
        yield row_against_git(
            work, f"log of {amount:,} with bodies", lambda s=store: read_log(s), store, blobs, budget=1.5
        )
        bare = "  libgit2 alone reading these"
        yield row_against_git(work, bare, lambda s=store, t=tip: read_chain(s, t, bodies=True), store, blobs)
        yield row_against_git(
            work, f"log of {amount:,} without", lambda s=store: read_log(s, bodies=False), store, commits
        )
        first = lambda s=store: (shutil.rmtree(f"{s}-index", ignore_errors=True), read_show(s))  # noqa: E731
        yield row_against_git(work, f"show of {amount:,}, the first time", first, store, commits)
        yield row_against_git(work, f"show of {amount:,}", lambda s=store: read_show(s), store, commits, budget=1.2)
        yield row_against_git(work, bare, lambda s=store, t=tip: read_chain(s, t, bodies=False), store, commits)
    yield _last(work)


def row_against_git(
    work: Workspace,
    operation: str,
    ours: Callable[[], object],
    store: str,
    names: list[str],
    budget: float | None = None,
) -> Row:
    """Measure an action, compared with git printing the same objects."""
    repetitions = work.repetitions(5)
    measured = by_turns(repetitions, lambda: wall(ours), lambda: wall(lambda: _print_objects(work, store, names)))
    against = f"git {' '.join(names[:-1])} | git cat-file --batch"
    return Row(operation=operation, ours=measured[0], reference=measured[1], against=against, budget=budget)


def _last(work: Workspace) -> Row:
    long, short = work.store_of(1, 10_000), work.store_of(1, 1000)
    ours, reference = by_turns(
        work.repetitions(15),
        lambda: wall(lambda: read_log(long, limit=50)),
        lambda: wall(lambda: read_log(short, limit=50)),
    )
    return Row(
        operation=f"log -n 50 of {work.amount(10_000):,}",
        ours=ours,
        reference=reference,
        against=f"of {work.amount(1000):,}",
        budget=2.0,
    )


def read_log(store: str, name: str = "conv-001", *, limit: int | None = None, bodies: bool = True) -> int:
    """Open the store and read a log to its end; return the number of its messages."""
    return sum(1 for _ in log(open_as_command(store), name, limit=limit, bodies=bodies).items)


def read_show(store: str, name: str = "conv-001") -> int:
    """Open the store and describe the conversation; return the number of its messages."""
    return show(open_as_command(store), name).messages


def _print_objects(work: Workspace, store: str, names: list[str]) -> None:
    environment = work.environment
    with subprocess.Popen(work.git(store, *names), env=environment, stdout=subprocess.PIPE) as first:
        last = work.git(store, "cat-file", "--batch", "--buffer")
        subprocess.run(last, env=environment, stdin=first.stdout, stdout=subprocess.DEVNULL, check=True)
