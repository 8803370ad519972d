"""`scopes compact`."""

from __future__ import annotations

import typer

from scopes.cli.arguments import BuiltIn, ConversationOrBranchArgument
from scopes.cli.summary_options import Everything, Ratio, SummaryDryRun, SummaryOptions, summarize_from_options


def compact(
    context: typer.Context,
    conversation: ConversationOrBranchArgument,
    ratio: Ratio = None,
    include_all: Everything = False,
    dry_run: SummaryDryRun = False,
    built_in: BuiltIn = False,
) -> int:
    """Add a summary that future context starts from.

    The summary is made as by `scopes summarize`, of the previous compaction and all messages since. A context for
    an agent starts at it. Nothing is removed: the messages stay in the history. If a source of the previous compaction
    was amended or retracted since, the summary is made of the messages themselves.

    Examples:
      scopes compact conv-001
      scopes compact conv-001/main --ratio 0.1
      scopes compact conv-001 --dry-run
    """
    options = SummaryOptions(ratio, include_all, dry_run, built_in)
    return summarize_from_options(context.obj, conversation, options, compact=True)
