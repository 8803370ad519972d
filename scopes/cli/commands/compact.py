"""`scopes conv compact`."""

from __future__ import annotations

import typer

from scopes.cli.arguments import BuiltIn, ConversationOrBranch, Everything, Ratio, SummaryDryRun
from scopes.cli.invocation import Invocation
from scopes.cli.token_options import tokenizer_for
from scopes.memory.compact import compact as put_summary
from scopes.memory.summarize import DEFAULT_RATIO


def compact(
    context: typer.Context,
    conversation: ConversationOrBranch,
    ratio: Ratio = None,
    every: Everything = False,
    dry_run: SummaryDryRun = False,
    built_in: BuiltIn = False,
) -> int:
    """Add a summary that future context starts from.

    The summary is made as by `scopes conv summarize`, of the compaction before it and all that was said since; a
    context for an agent starts at it. Nothing is removed: what it stands for is the whole history behind it. Where what
    the compaction before was made of has been amended or retracted since, it is made of the messages themselves.

    Examples:
      scopes conv compact conv-001
      scopes conv compact conv-001/main --ratio 0.1
      scopes conv compact conv-001 --dry-run
    """
    call: Invocation = context.obj
    share = DEFAULT_RATIO if ratio is None else ratio
    counter = tokenizer_for(call, None, strict=False).tokenizer
    done = put_summary(
        call.repository(), conversation, counter, ratio=share, every=every, dry_run=dry_run, built_in=built_in
    )
    return call.show(done)
