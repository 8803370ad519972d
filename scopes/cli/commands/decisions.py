"""`scopes conv decisions` and `decisions withdraw`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import (
    LATEST,
    AuthorKind,
    AuthorName,
    OnBranch,
    ScopeOrLatestArgument,
    author_of,
    find_conversation,
    split_branch,
)
from scopes.cli.continue_options import DryRun
from scopes.cli.invocation import Invocation
from scopes.conversation.decisions import decisions as run_decisions
from scopes.conversation.withdraw import withdraw_decision
from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.store.repository import Repository


def decisions(context: typer.Context, where: ScopeOrLatestArgument = LATEST) -> int:
    """List the decisions of a conversation.

    Each with its message, date and agent, and its state: in-effect on the active branch; superseded by a later one;
    withdrawn, by its topic or with its message; or other-branch if only other branches hold it (in JSON, `branches`
    names them). With CONV/BRANCH only the decisions in the history of that branch, with their state there.

    Examples:
      scopes conv decisions conv-001
      scopes conv decisions conv-001/analysis/security-review
      scopes conv decisions conv-001 --json
    """
    invocation: Invocation = context.obj
    return invocation.show(run_decisions(invocation.repository(), where))


def decisions_withdraw(
    context: typer.Context,
    first: Annotated[
        str, typer.Argument(metavar="CONV[/BRANCH]", help="The conversation; a topic alone is of the latest one")
    ],
    second: Annotated[
        str | None, typer.Argument(metavar="TOPIC", help="The topic, in any spelling", show_default=False)
    ] = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for those who read it later")] = "",
    author: AuthorName = None,
    author_kind: AuthorKind = None,
    branch: OnBranch = None,
    dry_run: DryRun = False,
) -> int:
    """Withdraw the decision on a topic.

    After it no decision on the topic is in effect on the branch. A new message records who withdrew it and why; `scopes
    undo` takes that back. Letter case and outer spaces of the topic do not matter. To return to the decision before,
    retract the message instead: `scopes retract MESSAGE`.

    Examples:
      scopes decisions withdraw conv-001 db --reason "the tests are too slow"
      scopes decisions withdraw conv-001/fix "data base" --dry-run
      scopes decisions withdraw db
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    conversation, topic = (first, second) if second is not None else (LATEST, first)
    conversation, branch = split_branch(conversation, branch)
    who = author_of(invocation, author, author_kind)
    try:
        result = withdraw_decision(
            repository, conversation, topic, reason=reason, author=who, branch=branch, dry_run=dry_run
        )
    except NotFound:
        if second is None and _names_conversation(repository, first):
            hint = f"scopes decisions withdraw {first} TOPIC\nlist them: scopes decisions {first}"
            raise Invalid("no topic given", hint=hint) from None
        raise
    return invocation.show(result)


def _names_conversation(repository: Repository, word: str) -> bool:
    try:
        return find_conversation(repository, word) is not None
    except (Ambiguous, Invalid):
        return False
