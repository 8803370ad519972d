"""`scopes rebase`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import ConversationOrBranchArgument, OnBranch, split_branch
from scopes.cli.continue_options import Abort, Continue, DryRun, Skip, requested_step
from scopes.cli.invocation import Invocation
from scopes.conversation.rebase import abort_rebase, continue_rebase, skip_rebase
from scopes.conversation.rebase import rebase as run_rebase
from scopes.errors import Invalid


def rebase(
    context: typer.Context,
    conversation: ConversationOrBranchArgument,
    onto: Annotated[
        str | None, typer.Option("--onto", metavar="MESSAGE", help="The new base: a branch, main~2 or a message id")
    ] = None,
    from_base: Annotated[
        bool, typer.Option("--from-base", help="Take all messages since the merge base with the new base, as git does")
    ] = False,
    branch: OnBranch = None,
    continue_: Continue = False,
    skip: Skip = False,
    abort: Abort = False,
    dry_run: DryRun = False,
) -> int:
    """Move a branch's own messages onto another base.

    The messages keep their ids and get new commits. A message that conflicts with the new base stops the rebase with
    exit code 3: the branch does not move yet, and a conflict-resolution branch becomes the active one. Resolve the
    conflicts, then run --continue.

    A branch's own messages are those after its fork point. If it was forked from another branch than the new base, the
    messages of that branch are left out, and a note says how many; --from-base takes them too.

    Examples:
      scopes rebase conv-001 --branch fix --onto main
      scopes rebase conv-001/fix --onto main~2 --dry-run
      scopes rebase conv-001 --continue
    """
    invocation: Invocation = context.obj
    step = requested_step(
        begin=onto is not None,
        continue_=continue_,
        skip=skip,
        abort=abort,
        dry_run=dry_run,
        missing="no new base given: --onto",
    )
    if from_base and step != "begin":
        raise Invalid("--from-base needs --onto", hint=f"leave it out with --{step}")
    conversation, branch = split_branch(conversation, branch)
    if step == "begin":
        return invocation.show(
            run_rebase(
                invocation.repository(),
                conversation,
                onto=onto or "",
                branch=branch,
                from_base=from_base,
                dry_run=dry_run,
            )
        )
    resume = {"continue": continue_rebase, "skip": skip_rebase}.get(step)
    if resume is not None:
        return invocation.show(resume(invocation.repository(), conversation, branch))
    return invocation.show(abort_rebase(invocation.repository(), conversation, branch))
