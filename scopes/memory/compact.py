"""`compact`: append a summary of the whole history that future contexts start from."""

from __future__ import annotations

from scopes.memory.summarize import DEFAULT_RATIO, Summarized, summarize
from scopes.store.repository import Repository
from scopes.tokens.choose import Tokenizer


def compact(
    repository: Repository,
    branch: str,
    tokenizer: Tokenizer,
    *,
    ratio: float = DEFAULT_RATIO,
    include_all: bool = False,
    dry_run: bool = False,
    built_in: bool = False,
) -> Summarized:
    """Append a compaction to a branch; options and errors are those of `summarize`."""
    return summarize(
        repository,
        branch,
        tokenizer,
        ratio=ratio,
        include_all=include_all,
        dry_run=dry_run,
        built_in=built_in,
        compact=True,
    )
