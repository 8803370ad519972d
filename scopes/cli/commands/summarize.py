"""`scopes summarize`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import BuiltIn, ConversationOrBranchArgument, OnBranch, split_branch
from scopes.cli.invocation import Invocation
from scopes.cli.summary_options import Everything, Ratio, SummaryDryRun, SummaryOptions, summarize_from_options
from scopes.errors import Invalid
from scopes.memory.summaries import list_summaries


def summarize(
    context: typer.Context,
    conversation: ConversationOrBranchArgument,
    branch: OnBranch = None,
    ratio: Ratio = None,
    include_all: Everything = False,
    dry_run: SummaryDryRun = False,
    built_in: BuiltIn = False,
    status: Annotated[bool, typer.Option("--status", help="List the summaries, and which of them are stale")] = False,
) -> int:
    """Summarize new messages.

    The summary of the messages since the last one is a message that names its sources; it is stale once there are newer
    messages. The built-in summary consists of the most important sentences (TextRank): it works offline, is always the
    same, and keeps to the share of tokens in --ratio. The setting scopes.summarizer names a command of yours that reads
    a prompt on standard input and writes the summary; if it fails, nothing is stored. Possible secrets in the prompt
    are replaced, because the command may send it to a model.

    Examples:
      scopes summarize conv-001
      scopes summarize conv-001/main --all --ratio 0.1 --dry-run
      scopes summarize conv-001 --status
    """
    invocation: Invocation = context.obj
    name, branch = split_branch(conversation, branch)
    conversation = name if branch is None else f"{name}/{branch}"
    if status:
        if ratio is not None or include_all or dry_run or built_in:
            raise Invalid("--status cannot be combined with other options", hint="leave out the other options")
        return invocation.show(list_summaries(invocation.repository(), conversation))
    return summarize_from_options(invocation, conversation, SummaryOptions(ratio, include_all, dry_run, built_in))
