"""`scopes conv summarize`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import BuiltIn, ConversationOrBranch, Everything, Ratio, SummaryDryRun
from scopes.cli.invocation import Invocation
from scopes.cli.token_options import tokenizer_for
from scopes.errors import Invalid
from scopes.memory.summaries import list_summaries
from scopes.memory.summarize import DEFAULT_RATIO
from scopes.memory.summarize import summarize as write_summary


def summarize(
    context: typer.Context,
    conversation: ConversationOrBranch,
    ratio: Ratio = None,
    every: Everything = False,
    dry_run: SummaryDryRun = False,
    built_in: BuiltIn = False,
    status: Annotated[
        bool, typer.Option("--status", help="List the summaries there are, and which of them are stale")
    ] = False,
) -> int:
    """Summarize new messages.

    The summary is a message that names its sources; it is stale once something was said after it. The built-in one
    chooses the sentences that say most (TextRank), offline and every time the same, of at most so many tokens; the
    setting scopes.summarizer names a command of yours that gets a prompt on standard input and writes the summary. A
    command that fails stores nothing.

    Examples:
      scopes conv summarize conv-001
      scopes conv summarize conv-001/main --all --ratio 0.1 --dry-run
      scopes conv summarize conv-001 --status
    """
    call: Invocation = context.obj
    if status:
        if ratio is not None or every or dry_run or built_in:
            raise Invalid("--status only looks at the summaries there are", hint="leave the other options out")
        return call.show(list_summaries(call.repository(), conversation))
    share = DEFAULT_RATIO if ratio is None else ratio
    counter = tokenizer_for(call, None, strict=False).tokenizer
    done = write_summary(
        call.repository(), conversation, counter, ratio=share, every=every, dry_run=dry_run, built_in=built_in
    )
    return call.show(done)
