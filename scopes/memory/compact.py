"""`compact`: put a summary in line, so that a context begins there; the long form stays behind it, as its history."""

from __future__ import annotations

from scopes.memory.summarize import DEFAULT_RATIO, Summarized, summarize
from scopes.memory.summarizer import Count
from scopes.store.repository import Repository


def compact(
    repository: Repository,
    where: str,
    count: Count,
    *,
    ratio: float = DEFAULT_RATIO,
    every: bool = False,
    dry_run: bool = False,
    built_in: bool = False,
) -> Summarized:
    """Append a summary with which a context begins; raises as `summarize` does."""
    return summarize(
        repository, where, count, ratio=ratio, every=every, dry_run=dry_run, built_in=built_in, compact=True
    )
