"""Disk usage of conversations after maintenance."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.history.handles import resolve_scope, walk_messages
from scopes.history.messages import read_message_bytes
from tests.benchmarks.stores import size_bytes
from tests.benchmarks.timing import Row, Samples
from tests.benchmarks.workspace import Workspace
from tests.support.store import FULL, open_store

_MEGABYTE = 1_000_000


def measure(work: Workspace) -> Iterator[Row]:
    """Yield a thousand messages against a fixed limit, and many messages compared with their JSON lines."""
    store = work.store_of(1, 1000, 700)
    text_bytes, _ = _count(store)
    yield Row(
        operation=f"packed size of {work.amount(1000):,} messages, {text_bytes / 1000:.0f} kB of text",
        ours=_megabytes(size_bytes(store)),
        reference=_megabytes(_MEGABYTE),
        against="the bar",
        budget=1.0,
        unit="MB",
    )
    store = work.store_of(1, 10_000)
    _, line_bytes = _count(store)
    yield Row(
        operation=f"packed size of {work.amount(10_000):,} messages",
        ours=_megabytes(size_bytes(store)),
        reference=_megabytes(line_bytes),
        against="their stored lines",
        budget=0.8,
        unit="MB",
    )


def _count(store: str) -> tuple[int, int]:
    """Return the bytes of a conversation's texts, and of the JSON lines that hold them."""
    repository = open_store(store, FULL)
    messages = walk_messages(repository, resolve_scope(repository, "conv-001"))
    sizes = [(len(m.text.encode()), len(read_message_bytes(repository, head.oid))) for head, m in messages]
    return sum(text for text, _ in sizes), sum(line for _, line in sizes)


def _megabytes(size: int) -> Samples:
    return Samples((size / _MEGABYTE,))
