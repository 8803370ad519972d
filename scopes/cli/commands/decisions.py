"""`scopes decisions`, `decisions accept`, `dismiss` and `withdraw`."""

from __future__ import annotations

from shlex import quote
from typing import Annotated, TypeAlias

import typer

from scopes.cli.arguments import (
    LATEST,
    AuthorKind,
    AuthorName,
    OnBranch,
    Reason,
    ScopeOrLatestArgument,
    author_of,
    conversation_of_message,
    find_conversation,
    split_branch,
)
from scopes.cli.continue_options import DryRun
from scopes.cli.invocation import Invocation
from scopes.conversation.decisions import decisions as run_decisions
from scopes.conversation.decisions import withdraw_decision
from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.store.repository import Repository

ConversationOrCandidate: TypeAlias = Annotated[
    str, typer.Argument(metavar="CONV|CANDIDATE", help="The conversation; or the candidate alone, by its id")
]
CandidateAfterConversation: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="CANDIDATE", help="The candidate: its id or a unique prefix", show_default=False),
]


def decisions(
    context: typer.Context,
    where: ScopeOrLatestArgument = LATEST,
    candidates: Annotated[
        bool, typer.Option("--candidates", help="List sentences that seem to state a decision instead")
    ] = False,
) -> int:
    """List the decisions of a conversation.

    Each with its message, date and agent, and its state: in-effect on the active branch; superseded by a later one;
    withdrawn, by its topic or with its message; or other-branch if only other branches hold it (in JSON, `branches`
    names them). With CONV/BRANCH only the decisions in the history of that branch, with their state there.

    --candidates lists sentences of messages that seem to state a decision, and why. They are not decisions, and merges
    do not know them, until `scopes decisions accept`; `scopes decisions dismiss` takes one off the list.

    Examples:
      scopes decisions conv-001
      scopes decisions conv-001 --candidates
      scopes decisions conv-001/analysis/security-review
      scopes decisions conv-001 --json
    """
    invocation: Invocation = context.obj
    if candidates:
        from scopes.memory.decision_candidates import list_candidates as list_candidates_

        list_candidates = list_candidates_
        return invocation.show(list_candidates(invocation.repository(), where))
    return invocation.show(run_decisions(invocation.repository(), where))


def decisions_accept(
    context: typer.Context,
    first: ConversationOrCandidate,
    second: CandidateAfterConversation = None,
    topic: Annotated[
        str | None, typer.Option("--topic", metavar="TOPIC", help="What it is about (default: words of the sentence)")
    ] = None,
    author: AuthorName = None,
    author_kind: AuthorKind = None,
    branch: Annotated[
        str | None,
        typer.Option("--branch", "-b", metavar="BRANCH", help="The branch to add it to (default: the candidate's)"),
    ] = None,
) -> int:
    """Make a decision of a sentence that states one.

    Appends a decision with the text of the candidate, which names the message it came from. From then on merges compare
    it with other decisions on the same topic. A candidate can be accepted only once in a conversation.
    `scopes undo` takes it back.

    Examples:
      scopes decisions accept conv-001 3f2a9c1e.1 --topic database
      scopes decisions accept 3f2a9c1e --topic "session cookies" --as carol
    """
    invocation: Invocation = context.obj
    where, name = _split(invocation.repository(), first, second)
    from scopes.memory.decision_candidates import accept_candidate

    accept = accept_candidate
    who = author_of(invocation, author, author_kind)
    return invocation.show(accept(invocation.repository(), where, name, topic=topic, author=who, branch=branch))


def decisions_dismiss(
    context: typer.Context,
    first: ConversationOrCandidate,
    second: CandidateAfterConversation = None,
    reason: Reason = "",
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Take a sentence off the list of candidates.

    Its message stays as it is. `scopes undo` lists the candidate again.

    Examples:
      scopes decisions dismiss conv-001 3f2a9c1e.2
      scopes decisions dismiss 3f2a9c1e --reason "a quotation"
    """
    invocation: Invocation = context.obj
    where, name = _split(invocation.repository(), first, second)
    from scopes.memory.decision_candidates import dismiss_candidate

    dismiss = dismiss_candidate
    who = author_of(invocation, author, author_kind)
    return invocation.show(dismiss(invocation.repository(), where, name, reason=reason, author=who))


def _split(repository: Repository, first: str, second: str | None) -> tuple[str, str]:
    """Split the words `CONV CANDIDATE`, or CANDIDATE alone, into conversation and candidate."""
    if second is not None:
        return first, second
    return conversation_of_message(repository, first.partition(".")[0]), first


def decisions_withdraw(
    context: typer.Context,
    first: Annotated[
        str, typer.Argument(metavar="CONV[/BRANCH]", help="The conversation; a topic alone is of the latest one")
    ],
    second: Annotated[
        str | None, typer.Argument(metavar="TOPIC", help="The topic, in any spelling", show_default=False)
    ] = None,
    reason: Reason = "",
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
            hint = f"scopes decisions withdraw {quote(first)} TOPIC\nlist them: scopes decisions {quote(first)}"
            raise Invalid("no topic given", hint=hint) from None
        raise
    return invocation.show(result)


def _names_conversation(repository: Repository, word: str) -> bool:
    try:
        return find_conversation(repository, word) is not None
    except (Ambiguous, Invalid):
        return False
