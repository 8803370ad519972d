"""Listing very many conversations, against `git for-each-ref` reading the same commits."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.conversation.list import list_conversations
from tests.benchmarks.measuring import Row, by_turns, process_wall, run, wall
from tests.benchmarks.startup import entries
from tests.benchmarks.stores import open_store
from tests.benchmarks.workplace import Workplace

_FORMAT = "--format=%(refname) %(committerdate) %(subject)"


def measure(work: Workplace) -> Iterator[Row]:
    """Yield the operation and the whole process, for few and for many conversations, all in packs."""
    for conversations in (1000, 10_000):
        store = work.store_of(conversations, 3, 300)
        amount = f"{work.amount(conversations):,}"
        command = work.git(store, "for-each-ref", _FORMAT, "refs/heads/")
        against = "git for-each-ref with date and subject"

        def reference(command: list[str] = command) -> float:
            return wall(lambda: run(command, work.environment))

        for what, whole in (("", False), (" with titles and counts", True)):
            ours, theirs = by_turns(
                work.repetitions(5),
                lambda s=store, w=whole: wall(lambda: list_conversations(open_store(s), whole=w)),
                reference,
            )
            budget = None if whole else 1.2
            yield Row(operation=f"list {amount}{what}", ours=ours, reference=theirs, against=against, budget=budget)
        for name, begin in entries(work):
            process = [*begin, "conv", "list"]
            ours, theirs = by_turns(
                work.repetitions(4), lambda c=process, s=store: process_wall(c, work.using(s)), reference
            )
            yield Row(operation=f"{name} conv list, {amount}, piped", ours=ours, reference=theirs, against=against)
