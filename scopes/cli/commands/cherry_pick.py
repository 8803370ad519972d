"""`scopes conv cherry-pick`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import ConversationOrBranch, OnBranch
from scopes.cli.continue_options import Abort, Continue, DryRun, Skip, chosen_step
from scopes.cli.invocation import Invocation
from scopes.conversation.cherry_pick import abort_cherry_pick, continue_cherry_pick, skip_cherry_pick
from scopes.conversation.cherry_pick import cherry_pick as pick


def cherry_pick(
    context: typer.Context,
    conversation: ConversationOrBranch,
    messages: Annotated[
        list[str] | None, typer.Argument(metavar="[MESSAGE]", help="The messages: an id, fix~2, a tag")
    ] = None,
    branch: OnBranch = None,
    go_on: Continue = False,
    skip: Skip = False,
    abort: Abort = False,
    dry_run: DryRun = False,
) -> int:
    """Put single messages on top of a branch.

    They come from another branch or conversation, in the order given, and keep their ids; what the branch has already
    is left out. A message that disagrees with what it finds there waits on a branch of its own, as in a rebase.

    Examples:
      scopes conv cherry-pick conv-001 fix~1 fix --branch main
      scopes conv cherry-pick conv-001 k3x9 --dry-run
      scopes conv cherry-pick conv-001 --continue
    """
    call: Invocation = context.obj
    step = chosen_step(
        begins=bool(messages), go_on=go_on, skip=skip, abort=abort, dry_run=dry_run, missing="name the messages to pick"
    )
    head, _, rest = conversation.partition("/")
    named = branch or rest or None
    if step == "begin":
        return call.show(pick(call.repository(), head, messages or [], branch=named, dry_run=dry_run))
    resume = {"continue": continue_cherry_pick, "skip": skip_cherry_pick}.get(step)
    if resume is not None:
        return call.show(resume(call.repository(), head, named))
    return call.show(abort_cherry_pick(call.repository(), head, named))
