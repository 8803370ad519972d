"""`scopes merge-requests open`, `list`, `show`, `merge` and `close`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from scopes.cli.arguments import LATEST, AuthorKind, AuthorName, ConversationOrLatestArgument, Reason, author_of
from scopes.cli.commands.merge import Strategy
from scopes.cli.invocation import Invocation
from scopes.conversation.merge import (
    MergeOptions,
    close_merge_request,
    find_merge_request_anywhere,
    list_merge_requests,
    merge_request,
    open_merge_request,
    show_merge_request,
)
from scopes.store.repository import Repository

ConversationOrRequest: TypeAlias = Annotated[
    str, typer.Argument(metavar="CONV|REQUEST", help="The conversation; or the merge request alone, by its id")
]
RequestAfterConversation: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="REQUEST", help="The merge request: its number, its id or a unique prefix", show_default=False
    ),
]


def merge_requests_open(
    context: typer.Context,
    source: Annotated[str, typer.Option("--source", metavar="BRANCH", help="The branch to merge")],
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="What it is about, in one line")],
    conversation: ConversationOrLatestArgument = LATEST,
    target: Annotated[str, typer.Option("--target", metavar="BRANCH", help="The branch to merge it into")] = "main",
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="A longer description")] = "",
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Ask for a branch to be merged.

    The request has a number in its conversation, and an id that is the same everywhere. Nothing is merged yet. A branch
    has at most one open request for each target; after a request was closed, open a new one.

    Examples:
      scopes merge-requests open conv-001 --source fix --title "Session cookies for Safari"
      scopes mr open --source analysis/security-review --title "Security review" -m "All findings are fixed."
      scopes mr open conv-001 --source fix --target release --title "Backport" --as codex
    """
    invocation: Invocation = context.obj
    result = open_merge_request(
        invocation.repository(),
        conversation,
        source,
        title=title,
        target=target,
        message=message,
        requester=author_of(invocation, author, author_kind),
    )
    return invocation.show(result)


def merge_requests_list(
    context: typer.Context,
    conversation: Annotated[
        str | None, typer.Argument(metavar="[CONV]", help="The conversation (default: all)")
    ] = None,
    state: Annotated[
        str | None, typer.Option("--state", metavar="STATE", help="open (default), merged, closed or all")
    ] = None,
) -> int:
    """List merge requests, newest first.

    A request is merged when its target has all messages of its source, whoever merged it and however.

    Examples:
      scopes merge-requests list
      scopes mr list conv-001 --state all
      scopes mr list --json
    """
    invocation: Invocation = context.obj
    return invocation.show(list_merge_requests(invocation.repository(), conversation, state=state))


def merge_requests_show(
    context: typer.Context, first: ConversationOrRequest, second: RequestAfterConversation = None
) -> int:
    """Show a merge request and what its merge would do.

    Says whether the merge would be a fast-forward or stop on conflicts, and which; whether the source has moved since
    the request was opened, and whether a branch is gone. Nothing is changed. Without CONV, an id names a request of any
    conversation, and a number one of the latest conversation.

    Examples:
      scopes merge-requests show conv-001 1
      scopes mr show 1
      scopes mr show conv-001 1 --json
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    return invocation.show(show_merge_request(repository, *_split(repository, first, second)))


def merge_requests_merge(
    context: typer.Context,
    first: ConversationOrRequest,
    second: RequestAfterConversation = None,
    strategy: Strategy = None,
    no_ff: Annotated[
        bool, typer.Option("--no-ff", help="Create a merge message even if a fast-forward is possible")
    ] = False,
    message: Annotated[str | None, typer.Option("--message", "-m", metavar="TEXT", help="Merge message")] = None,
) -> int:
    """Merge the branch of a merge request.

    It is the merge of `scopes merge`, with its exit codes: 3 if it stops on conflicts. The request is merged when the
    merge is complete, also by `scopes merge --continue`. `scopes undo` takes back both.

    Examples:
      scopes merge-requests merge conv-001 1
      scopes mr merge 1 --no-ff -m "Reviewed by carol"
      scopes merge conv-001 --continue
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    options = MergeOptions(strategy=strategy or "automatic", fast_forward=not no_ff, message=message)
    return invocation.show(merge_request(repository, *_split(repository, first, second), options=options))


def merge_requests_close(
    context: typer.Context,
    first: ConversationOrRequest,
    second: RequestAfterConversation = None,
    reason: Reason = "",
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Close a merge request without merging.

    The branch stays as it is. A closed request stays in the list of all; to ask again, open a new one.

    Examples:
      scopes merge-requests close conv-001 1 --reason "done on main already"
      scopes mr close 1
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    conversation, name = _split(repository, first, second)
    author_ = author_of(invocation, author, author_kind)
    return invocation.show(close_merge_request(repository, conversation, name, reason=reason, author=author_))


def _split(repository: Repository, first: str, second: str | None) -> tuple[str, str]:
    """Split the words `CONV REQUEST`, or REQUEST alone, into conversation and request."""
    return (find_merge_request_anywhere(repository, first), first) if second is None else (first, second)
