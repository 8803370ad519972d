"""`scopes conv compact`."""

from __future__ import annotations

import typer

from scopes.cli.arguments import BuiltIn, ConversationOrBranch, Everything, Ratio, SummaryDryRun
from scopes.cli.invocation import Invocation
from scopes.cli.token_options import tokenizer_for
from scopes.memory.compact import compact as run_compact
from scopes.memory.summarize import DEFAULT_RATIO


def compact(
    context: typer.Context,
    conversation: ConversationOrBranch,
    ratio: Ratio = None,
    include_all: Everything = False,
    dry_run: SummaryDryRun = False,
    built_in: BuiltIn = False,
) -> int:
    """Add a summary that future context starts from.

    The summary is made as by `scopes conv summarize`, of the previous compaction and all messages since. A context for
    an agent starts at it. Nothing is removed: the messages stay in the history. If a source of the previous compaction
    was amended or retracted since, the summary is made of the messages themselves.

    Examples:
      scopes conv compact conv-001
      scopes conv compact conv-001/main --ratio 0.1
      scopes conv compact conv-001 --dry-run
    """
    invocation: Invocation = context.obj
    ratio = DEFAULT_RATIO if ratio is None else ratio
    tokenizer = tokenizer_for(invocation, None, strict=False).tokenizer
    result = run_compact(
        invocation.repository(),
        conversation,
        tokenizer,
        ratio=ratio,
        include_all=include_all,
        dry_run=dry_run,
        built_in=built_in,
    )
    return invocation.show(result)
