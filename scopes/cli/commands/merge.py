"""`scopes merge`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from scopes.cli.arguments import LATEST, split_branch, split_source
from scopes.cli.invocation import Invocation
from scopes.conversation.merge import MergeOptions, abort_merge, continue_merge
from scopes.conversation.merge import merge as run_merge
from scopes.errors import Invalid

Target: TypeAlias = Annotated[
    str | None, typer.Option("--target", metavar="BRANCH", help="The branch to merge into (default: the active one)")
]
Strategy: TypeAlias = Annotated[
    str | None,
    typer.Option("--strategy", metavar="NAME", help="automatic (default), ours (the target's side), theirs or manual"),
]
Conversation: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="CONV", help="The conversation (default: the latest), or CONV/BRANCH: the source"),
]
SourceName: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="SOURCE", help="The branch or message to merge, as with --source")
]
Source: TypeAlias = Annotated[
    str | None, typer.Option("--source", metavar="BRANCH", help="The branch or message to merge")
]
NoFastForward: TypeAlias = Annotated[
    bool, typer.Option("--no-ff", help="Create a merge message even if a fast-forward is possible")
]
AutoPriority: TypeAlias = Annotated[
    bool, typer.Option("--auto-priority", help="If priorities differ, take the higher one")
]
AllowUnrelated: TypeAlias = Annotated[
    bool, typer.Option("--allow-unrelated", help="Allow to merge histories that have no message in common")
]
MergeBranch: TypeAlias = Annotated[
    str | None,
    typer.Option("--branch", "-b", metavar="BRANCH", help="With --continue or --abort: the branch of the merge"),
]


def merge(
    context: typer.Context,
    conversation: Conversation = None,
    source_name: SourceName = None,
    source: Source = None,
    target: Target = None,
    strategy: Strategy = None,
    no_ff: NoFastForward = False,
    auto_priority: AutoPriority = False,
    strict: Annotated[bool, typer.Option("--strict", help="Also stop for files that both sides changed")] = False,
    allow_unrelated: AllowUnrelated = False,
    message: Annotated[str | None, typer.Option("--message", "-m", metavar="TEXT", help="Merge message")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would happen, and change nothing")] = False,
    continue_: Annotated[
        bool, typer.Option("--continue", help="Finish the merge after its conflicts are resolved")
    ] = False,
    abort: Annotated[bool, typer.Option("--abort", help="Stop the merge, and restore the state from before")] = False,
    branch: MergeBranch = None,
) -> int:
    """Merge a branch into another one.

    New messages on both sides are not a conflict. Two different values for the same key, such as a decision, are one:
    then the merge stops with exit code 3, the target does not move, and a conflict-resolution branch becomes the active
    one. Discuss there, resolve the listed conflicts, then run --continue. If the merged branch was the active one, the
    target becomes active.

    Examples:
      scopes merge conv-001 analysis/security-review
      scopes merge conv-001 --source fix --target main --dry-run
      scopes conflicts list conv-001
      scopes merge conv-001 --continue
      scopes merge conv-001 --abort
    """
    invocation: Invocation = context.obj
    if source is None and not (continue_ or abort):
        conversation, source = split_source(invocation.repository(), "merge", (conversation, source_name))
    elif source_name is not None and source is not None:
        raise Invalid("the source branch is given twice", hint="leave out SOURCE or --source")
    elif source_name is not None:
        hint = "if several merges are in progress, name the conflict-resolution branch with --branch"
        raise Invalid(f"{'--continue' if continue_ else '--abort'} takes no source", hint=hint)
    conversation = conversation or LATEST
    options = (source, target, strategy, message, no_ff, auto_priority, strict, allow_unrelated, dry_run)
    _check_options(source, branch, continue_=continue_, abort=abort, merge_options=any(options))
    if continue_ or abort:
        conversation, branch = split_branch(conversation, branch)
    if continue_:
        return invocation.show(continue_merge(invocation.repository(), conversation, branch))
    if abort:
        return invocation.show(abort_merge(invocation.repository(), conversation, branch))
    return invocation.show(
        run_merge(
            invocation.repository(),
            conversation,
            source or "",
            target=target,
            options=MergeOptions(
                strategy=strategy or "automatic",
                fast_forward=not no_ff,
                auto_priority=auto_priority,
                strict=strict,
                allow_unrelated=allow_unrelated,
                message=message,
            ),
            dry_run=dry_run,
        )
    )


def _check_options(
    source: str | None, branch: str | None, *, continue_: bool, abort: bool, merge_options: bool
) -> None:
    """Check that the options ask for exactly one of merge, continue and abort.

    Raises:
        Invalid: they do not.
    """
    if continue_ and abort:
        raise Invalid("--continue and --abort cannot be combined", hint="leave out --continue or --abort")
    step = "--continue" if continue_ else "--abort" if abort else None
    if step is not None and merge_options:
        hint = f"give only --branch with {step}"
        raise Invalid(f"{step} cannot be combined with merge options", hint=hint)
    if step is None and branch is not None:
        raise Invalid("--branch needs --continue or --abort", hint="use --target to name the branch to merge into")
    if step is None and not source:
        raise Invalid("no source branch given", hint="give one with --source, or give --continue or --abort")
