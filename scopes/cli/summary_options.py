"""Options of the commands that write summaries, `summarize` and `compact`, and their run."""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

import typer

from scopes.cli.invocation import Invocation
from scopes.cli.token_options import tokenizer_for
from scopes.memory.summarize import DEFAULT_RATIO, summarize

Ratio: TypeAlias = Annotated[
    float | None,
    typer.Option("--ratio", metavar="SHARE", help="Share of the tokens to keep: above 0, at most 1 (default: 0.3)"),
]
Everything: TypeAlias = Annotated[
    bool, typer.Option("--all", "-a", help="The whole branch, also what is summarized already")
]
SummaryDryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Only print the summary; store nothing")]


class SummaryOptions(NamedTuple):
    """The options that both commands have."""

    ratio: float | None
    include_all: bool
    dry_run: bool
    built_in: bool


def summarize_from_options(
    invocation: Invocation, conversation: str, options: SummaryOptions, *, compact: bool = False
) -> int:
    """Write a summary or, with `compact`, a compaction, and show the result; raises as `summarize` does."""
    ratio, include_all, dry_run, built_in = options
    result = summarize(
        invocation.repository(),
        conversation,
        tokenizer_for(invocation, None, strict=False).tokenizer,
        ratio=DEFAULT_RATIO if ratio is None else ratio,
        include_all=include_all,
        dry_run=dry_run,
        built_in=built_in,
        compact=compact,
    )
    return invocation.show(result)
