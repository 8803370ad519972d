"""`scopes conv rebase`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import ConversationOrBranch, OnBranch
from scopes.cli.continue_options import Abort, Continue, DryRun, Skip, chosen_step
from scopes.cli.invocation import Invocation
from scopes.conversation.rebase import abort_rebase, continue_rebase, skip_rebase
from scopes.conversation.rebase import rebase as move


def rebase(
    context: typer.Context,
    conversation: ConversationOrBranch,
    onto: Annotated[
        str | None, typer.Option("--onto", metavar="MESSAGE", help="The new base: a branch, main~2, an id")
    ] = None,
    branch: OnBranch = None,
    go_on: Continue = False,
    skip: Skip = False,
    abort: Abort = False,
    dry_run: DryRun = False,
) -> int:
    """Put a branch's own messages on top of another place.

    They keep their ids and get new commits. A message that disagrees with what it finds there stops the rebase: it
    waits on a branch of its own, which becomes the active one, and the branch stays where it is. Resolve what is
    listed, and continue. The exit code is 3 then.

    Examples:
      scopes conv rebase conv-001 --branch fix --onto main
      scopes conv rebase conv-001/fix --onto main~2 --dry-run
      scopes conv rebase conv-001 --continue
    """
    call: Invocation = context.obj
    step = chosen_step(
        begins=onto is not None,
        go_on=go_on,
        skip=skip,
        abort=abort,
        dry_run=dry_run,
        missing="name the new base: --onto",
    )
    head, _, rest = conversation.partition("/")
    named = branch or rest or None
    if step == "begin":
        return call.show(move(call.repository(), head, onto=onto or "", branch=named, dry_run=dry_run))
    resume = {"continue": continue_rebase, "skip": skip_rebase}.get(step)
    if resume is not None:
        return call.show(resume(call.repository(), head, named))
    return call.show(abort_rebase(call.repository(), head, named))
