"""`scopes conv merge`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import Conversation
from scopes.cli.invocation import Invocation
from scopes.conversation.merge import abort_merge, continue_merge
from scopes.conversation.merge import merge as join
from scopes.errors import Invalid


def merge(
    context: typer.Context,
    conversation: Conversation,
    source: Annotated[
        str | None, typer.Option("--source", metavar="BRANCH", help="What to bring in: a branch, or any message")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="BRANCH", help="Into which branch; else the active one")
    ] = None,
    strategy: Annotated[
        str | None, typer.Option("--strategy", metavar="NAME", help="automatic (default), ours, theirs or manual")
    ] = None,
    no_ff: Annotated[bool, typer.Option("--no-ff", help="Make a merge also where moving forward would do")] = False,
    auto_priority: Annotated[
        bool, typer.Option("--auto-priority", help="Where urgencies differ, take the higher one")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop also for files that both sides wrote")] = False,
    allow_unrelated: Annotated[
        bool, typer.Option("--allow-unrelated", help="Merge histories that have no message in common")
    ] = False,
    message: Annotated[
        str | None, typer.Option("--message", "-m", metavar="TEXT", help="What the merge says of itself")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and do nothing")] = False,
    go_on: Annotated[bool, typer.Option("--continue", help="Finish a merge whose conflicts are resolved")] = False,
    abort: Annotated[bool, typer.Option("--abort", help="Give a merge up that waits for its conflicts")] = False,
    branch: Annotated[
        str | None, typer.Option("--branch", "-b", metavar="BRANCH", help="With --continue or --abort: where it waits")
    ] = None,
) -> int:
    """Join a branch into another one.

    Both sides going on is no conflict. Where they say different things about one subject, the target stays where it is
    and the merge waits on a branch of its own, which becomes the active one: talk there, resolve what is listed, and
    continue. The exit code is 3 then.

    Examples:
      scopes conv merge conv-001 --source analysis/security-review --target main
      scopes conv merge conv-001 --source fix --dry-run
      scopes conflicts list conv-001
      scopes conv merge conv-001 --continue
      scopes conv merge conv-001 --abort
    """
    call: Invocation = context.obj
    given = (source, target, strategy, message, no_ff, auto_priority, strict, allow_unrelated, dry_run)
    _check_form(source, branch, go_on=go_on, abort=abort, others=any(given))
    if go_on:
        return call.show(continue_merge(call.repository(), conversation, branch))
    if abort:
        return call.show(abort_merge(call.repository(), conversation, branch))
    return call.show(
        join(
            call.repository(),
            conversation,
            source or "",
            target=target,
            strategy=strategy or "automatic",
            fast_forward=not no_ff,
            auto_priority=auto_priority,
            strict=strict,
            unrelated=allow_unrelated,
            text=message,
            dry_run=dry_run,
        )
    )


def _check_form(source: str | None, branch: str | None, *, go_on: bool, abort: bool, others: bool) -> None:
    """Refuse a mixture of beginning, continuing and giving up.

    Raises:
        Invalid: with what to leave out or to add.
    """
    if go_on and abort:
        raise Invalid("a merge is continued or aborted, not both", hint="leave out --continue or --abort")
    resuming = "--continue" if go_on else "--abort" if abort else None
    if resuming is not None and others:
        hint = f"leave out the other options; only --branch goes with {resuming}"
        raise Invalid(f"{resuming} takes no other merge up", hint=hint)
    if resuming is None and branch is not None:
        raise Invalid("--branch goes with --continue or --abort", hint="the branch to merge into is --target")
    if resuming is None and not source:
        raise Invalid("what is to be merged?", hint="name a branch with --source, or give --continue or --abort")
