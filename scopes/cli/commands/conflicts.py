"""`scopes conflicts list`, `show`, `resolve`, `intervene`, `argue` and `escalate`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import (
    AuthorKind,
    AuthorName,
    Confidence,
    ConflictAfterConversation,
    ConversationOrConflict,
    Data,
    OptionalConversationArgument,
    Reason,
    author_of,
)
from scopes.cli.commands.collaborate import read_argument
from scopes.cli.invocation import Invocation
from scopes.cli.resolve_input import (
    AsBefore,
    Continue,
    Edit,
    ResolveOptions,
    Take,
    Value,
    resolve_from_options,
    split_conflict,
)
from scopes.collaboration.contribute import argue_about_conflict
from scopes.collaboration.neutral import choose_neutral, escalate
from scopes.conversation.conflicts import list_conflicts, show_conflict
from scopes.errors import Invalid


def conflicts_list(
    context: typer.Context,
    conversation: OptionalConversationArgument = None,
    status: Annotated[
        str | None,
        typer.Option("--status", metavar="STATUS", help="Only those: open, debate, escalated, resolved or aborted"),
    ] = None,
    include_all: Annotated[
        bool, typer.Option("--all", "-a", help="Include every conflict that has ended, in whatever way")
    ] = False,
) -> int:
    """List the conflicts between branches.

    A conflict is open, in debate (messages were added to its branch), escalated, resolved, or aborted with its merge,
    rebase or cherry-pick.

    With --all also those that have ended: resolved by hand, by a rule, by the strategy or as before. Those of a merge
    are in the history; what a rebase or cherry-pick resolved by itself, and what was aborted, is found in the operation
    log. A conflict that was resolved several times has a row for each merge or rebase that did it by itself, and the
    first row has all resolutions; where it is open, it has another. Not listed are the conflicts of merges that were
    undone, of dry runs, and of branches that were deleted or rewound behind the merge.

    Examples:
      scopes conflicts list
      scopes conflicts list conv-001 --status escalated
      scopes conflicts list conv-001 --all --json
    """
    invocation: Invocation = context.obj
    result = list_conflicts(invocation.repository(), conversation, status=status, include_all=include_all)
    return invocation.show(result)


def conflicts_show(
    context: typer.Context,
    first: ConversationOrConflict,
    second: ConflictAfterConversation = None,
    no_patch: Annotated[bool, typer.Option("--no-patch", help="Leave out the changes of a file")] = False,
) -> int:
    """Show both sides of a conflict.

    For each side: the value, its author, the confidence and the message. Also the value at the merge base, and the
    messages that were added to the conflict-resolution branch. Without CONV, an id names a conflict of any
    conversation, and a number one of the latest conversation.

    Of a file that both sides changed, the changes are shown as diffs, and the lines that disagree, as far as the
    messages and the imported records have its contents. Files of the working tree are neither read nor written.

    Examples:
      scopes conflicts show conv-001 1
      scopes conflicts show 3f2a
      scopes conflicts show conv-001 3f2a --json
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    conversation, conflict = split_conflict(repository, first, second, "show")
    return invocation.show(show_conflict(repository, conversation, conflict, patch=not no_patch))


def conflicts_resolve(
    context: typer.Context,
    first: ConversationOrConflict,
    second: ConflictAfterConversation = None,
    take: Take = None,
    value: Value = None,
    edit: Edit = False,
    as_before: AsBefore = False,
    reason: Reason = "",
    continue_: Continue = False,
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Resolve a conflict.

    Take the value of one side, of the merge base, or of both if the key can hold both; or give another value. `scopes
    conflicts show` lists what a conflict can take. As in git, ours is another word for target, theirs one for source.
    --edit opens the texts of both sides in your editor. The resolution becomes a message on the conflict-resolution
    branch, with author, reason and the rejected values.

    --continue finishes the merge, rebase or cherry-pick in the same command if no conflict is open then; `scopes undo`
    takes back both in one step. `scopes merge CONV --continue` finishes it later.

    If the same two values for the same key were resolved before on any branch of the conversation, `conflicts show`
    says how, and --as-before takes the same value again. Earlier resolutions that contradict each other are only shown.

    Examples:
      scopes conflicts resolve conv-001 1 --take source --reason "measured twice" --continue
      scopes conflicts resolve conv-001 1 --value "PostgreSQL for both"
      scopes conflicts resolve conv-001 1 --edit
      scopes conflicts resolve conv-001 1 --as-before
      scopes merge conv-001 --continue
    """
    invocation: Invocation = context.obj
    options = ResolveOptions(
        take, value, edit, reason, author_of(invocation, author, author_kind), as_before, continue_
    )
    return resolve_from_options(invocation, first, second, options)


def conflicts_intervene(
    context: typer.Context,
    first: ConversationOrConflict,
    second: ConflictAfterConversation = None,
    take: Take = None,
    value: Value = None,
    edit: Edit = False,
    reason: Reason = "",
    continue_: Continue = False,
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Override both sides of a conflict.

    Like resolve, with --continue too, but recorded as an intervention. It needs a reason.

    Examples:
      scopes conflicts intervene conv-001 1 --take target --reason "the audit is next week"
      scopes conflicts intervene conv-001 1 --value "wait for the audit" --reason "nobody is sure"
    """
    invocation: Invocation = context.obj
    who = author_of(invocation, author, author_kind)
    options = ResolveOptions(take, value, edit, reason, who, continue_=continue_)
    return resolve_from_options(invocation, first, second, options, intervening=True)


def conflicts_argue(
    context: typer.Context,
    first: ConversationOrConflict,
    position: Annotated[str, typer.Option("--position", metavar="TEXT", help="What you hold")],
    second: ConflictAfterConversation = None,
    reason: Reason = "",
    confidence: Confidence = None,
    data: Data = None,
) -> int:
    """State a position about a conflict.

    The conflict is in debate then. A later position of yours replaces it. Whoever decides sees all of them.

    Examples:
      scopes conflicts argue conv-001 1 --position "JWT" --reason "The app has no server state" --as reviewer
      scopes conflicts argue conv-001 1 --position "Sessions" --data @why.json
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    argument = read_argument(invocation, "", position, reason=reason, confidence=confidence, data=data)
    names = split_conflict(repository, first, second, "argue")
    writer = author_of(invocation)
    return invocation.show(argue_about_conflict(repository, *names, argument, author=writer))


def conflicts_escalate(
    context: typer.Context,
    first: ConversationOrConflict,
    to: Annotated[str | None, typer.Option("--to", metavar="NAME", help="Who should resolve it")] = None,
    neutral: Annotated[
        bool, typer.Option("--neutral", help="A registered agent that is available and not involved, best a person")
    ] = False,
    capability: Annotated[
        str | None, typer.Option("--capability", metavar="WORD", help="With --neutral: what it must be able to do")
    ] = None,
    second: ConflictAfterConversation = None,
    reason: Reason = "",
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Assign a conflict to someone else.

    Records who should resolve it, and why. A registered agent gets the message in its inbox; a name that is not
    registered is refused if it is like one that is. --neutral chooses somebody who is not involved: who holds no side
    and has not written about the conflict; the result says who it is.

    Examples:
      scopes conflicts escalate conv-001 1 --to carol --reason "it concerns the budget"
      scopes conflicts escalate conv-001 1 --neutral --reason "two positions, no agreement"
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    if to is not None and neutral:
        raise Invalid("--to cannot be combined with --neutral", hint="leave out one of them")
    if capability is not None and not neutral:
        raise Invalid("--capability goes with --neutral", hint=f"--neutral --capability {capability}")
    if to is None and not neutral:
        raise Invalid(
            "nobody is named to resolve the conflict", hint="--to NAME, or --neutral with or without --capability WORD"
        )
    names = split_conflict(repository, first, second, "escalate")
    writer = author_of(invocation, author, author_kind)
    name = choose_neutral(repository, *names, capability).name if to is None else to
    return invocation.show(escalate(repository, *names, to=name, reason=reason, author=writer))
