"""Listing very many conversations from the store and from the index, compared with `git for-each-ref`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from scopes.conversation.list import find_cached_list, list_conversations
from scopes.store.projects import index_directory
from tests.benchmarks.libgit2_reads import read_tips
from tests.benchmarks.startup import entries
from tests.benchmarks.timing import Row, by_turns, process_wall, run, wall
from tests.benchmarks.workspace import Workspace
from tests.support.store import FULL, open_store

_FORMAT = "--format=%(refname) %(committerdate) %(subject)"
_AGAINST = "git for-each-ref with date and subject"


def measure(work: Workspace) -> Iterator[Row]:
    """Yield the operation and the whole process, for few and for many conversations, all in packs."""
    for conversations in (1000, 10_000):
        store = work.store_of(conversations, 3, 300)
        amount = f"{work.amount(conversations):,}"
        tips = list(open_store(store, FULL).list_refs("refs/heads/").values())
        yield _row(work, f"list {amount}", store, lambda s=store: _list(s, details=False), 2.0)
        yield _row(
            work, f"  libgit2 alone reading the {len(tips):,} tips", store, lambda s=store, t=tips: read_tips(s, t)
        )
        yield _row(work, "  with counts", store, lambda s=store: _list(s, details=True))
        yield from _from_index(work, store)
        for name, begin in entries(work):
            ours, theirs = by_turns(
                work.repetitions(3),
                lambda b=begin, s=store: process_wall([*b, "conv", "list"], work.using(s)),
                lambda s=store: _list_refs(work, s),
            )
            yield Row(operation=f"{name} conv list, {amount}, piped", ours=ours, reference=theirs, against=_AGAINST)


def _from_index(work: Workspace, store: str) -> Iterator[Row]:
    """Yield the lists that need the index alone."""
    directory = index_directory(os.path.join(work.directory, "cache", "scopes"), store)
    list_conversations(open_store(store, FULL), directory)
    yield _row(work, "  from the index", store, lambda: _known(find_cached_list(store, directory)), budget=0.5)


def _list(store: str, *, details: bool) -> None:
    """List the conversations of a store without an index."""
    list_conversations(open_store(store, FULL), details=details)


def _known(found: object) -> None:
    assert found is not None, "the index does not know the store"


def _row(work: Workspace, operation: str, store: str, ours: Callable[[], object], budget: float | None = None) -> Row:
    mine, theirs = by_turns(work.repetitions(5), lambda: wall(ours), lambda: _list_refs(work, store))
    return Row(operation=operation, ours=mine, reference=theirs, against=_AGAINST, budget=budget)


def _list_refs(work: Workspace, store: str) -> float:
    return wall(lambda: run(work.git(store, "for-each-ref", _FORMAT, "refs/heads/"), work.environment))
