"""`scopes cherry-pick`."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from scopes.cli.arguments import LATEST, OnBranch, find_conversation, split_branch
from scopes.cli.continue_options import Abort, Continue, DryRun, Skip, requested_step
from scopes.cli.invocation import Invocation
from scopes.conversation.rebase import abort_cherry_pick, continue_cherry_pick, skip_cherry_pick
from scopes.conversation.rebase import cherry_pick as run_cherry_pick
from scopes.errors import Invalid, NotFound
from scopes.history.names import resolve_conversation, resolve_with_latest
from scopes.store.repository import Repository


def cherry_pick(
    context: typer.Context,
    conversation: Annotated[
        str, typer.Argument(metavar="CONV[/BRANCH]", help="Where to copy to (default: the latest conversation)")
    ],
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
    messages that the branch contains already are skipped. A conflict stops the cherry-pick, as in a rebase. Messages of
    the latest conversation need no conversation before them: they go onto its active branch.

    Examples:
      scopes cherry-pick k3x9
      scopes cherry-pick conv-001 fix~1 fix --branch main
      scopes cherry-pick conv-001 k3x9 --dry-run
      scopes cherry-pick conv-001 --continue
    """
    invocation: Invocation = context.obj
    if not (continue_ or skip or abort):
        conversation, messages = _split_words(invocation.repository(), conversation, messages or [])
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


def _split_words(repository: Repository, first: str, messages: list[str]) -> tuple[str, list[str]]:
    """Split the words `[CONV] MESSAGE...` into a conversation and messages; without CONV it is the latest one.

    Raises:
        NotFound: the only word is neither a conversation nor a message.
        Invalid: the first word is a message of another conversation, so it is not clear where to copy it.
        Ambiguous: the first word may be several conversations or messages.
    """
    if find_conversation(repository, first) is not None:
        return first, messages
    try:
        found = resolve_with_latest(repository, first).conversation
    except NotFound as error:
        if not messages:
            raise NotFound(f"there is no message {first!a}", hint=error.hint) from error
        return first, messages
    latest = resolve_conversation(repository, LATEST)
    if found != latest:
        hint = f"name where to copy it: scopes cherry-pick {quote(latest)} {quote(first)}"
        raise Invalid(f"{first} is a message of {found}", hint=hint)
    return LATEST, [first, *messages]
