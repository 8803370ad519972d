"""`scopes conv cherry-pick`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import ConversationOrBranchArgument, OnBranch, split_branch
from scopes.cli.continue_options import Abort, Continue, DryRun, Skip, requested_step
from scopes.cli.invocation import Invocation
from scopes.conversation.cherry_pick import abort_cherry_pick, continue_cherry_pick, skip_cherry_pick
from scopes.conversation.cherry_pick import cherry_pick as run_cherry_pick


def cherry_pick(
    context: typer.Context,
    conversation: ConversationOrBranchArgument,
    messages: Annotated[
        list[str] | None, typer.Argument(metavar="[MESSAGE]", help="The messages to copy: ids, fix~2 or tags")
    ] = None,
    branch: OnBranch = None,
    continue_: Continue = False,
    skip: Skip = False,
    abort: Abort = False,
    dry_run: DryRun = False,
) -> int:
    """Copy single messages onto a branch.

    The messages come from another branch or conversation. They are added in the given order and keep their ids;
    messages that the branch contains already are skipped. A conflict stops the cherry-pick, as in a rebase.

    Examples:
      scopes conv cherry-pick conv-001 fix~1 fix --branch main
      scopes conv cherry-pick conv-001 k3x9 --dry-run
      scopes conv cherry-pick conv-001 --continue
    """
    invocation: Invocation = context.obj
    step = requested_step(
        begin=bool(messages), continue_=continue_, skip=skip, abort=abort, dry_run=dry_run, missing="no message given"
    )
    conversation, branch = split_branch(conversation, branch)
    if step == "begin":
        return invocation.show(
            run_cherry_pick(invocation.repository(), conversation, messages or [], branch=branch, dry_run=dry_run)
        )
    resume = {"continue": continue_cherry_pick, "skip": skip_cherry_pick}.get(step)
    if resume is not None:
        return invocation.show(resume(invocation.repository(), conversation, branch))
    return invocation.show(abort_cherry_pick(invocation.repository(), conversation, branch))
