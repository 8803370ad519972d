"""`scopes proposals create`, `list`, `show`, `test`, `accept`, `reject`, `modify`, `apply` and others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from shlex import quote
from typing import Annotated, Any, TypeAlias

import typer

from scopes.cli.arguments import (
    LATEST,
    AuthorKind,
    AuthorName,
    Confidence,
    ConversationOrBranchArgument,
    Reason,
    ScopeOrLatestArgument,
    author_of,
    conversation_comes_first,
    find_conversation,
    read_confidence,
    split_branch,
)
from scopes.cli.commands.send import Queue
from scopes.cli.invocation import Invocation
from scopes.errors import Invalid
from scopes.history.handles import StoreHandle
from scopes.history.names import Revision
from scopes.merge.in_progress import resolution_branch_notes
from scopes.model import encoding
from scopes.proposals.apply import apply_proposal, rollback_proposal, try_proposal
from scopes.proposals.create import Delivery, NewChange, create_proposal
from scopes.proposals.feedback import give_feedback
from scopes.proposals.list import list_proposals, show_proposal
from scopes.proposals.review import Feedback, accept_proposal, modify_proposal, reject_proposal
from scopes.store.repository import Repository

ScopeOrProposal: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="CONV|PROPOSAL", help="The conversation or CONV/BRANCH; or the proposal alone, by its id"),
]
ProposalAfterScope: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="PROPOSAL", help="The proposal: its id or a unique prefix", show_default=False),
]
Texts: TypeAlias = list[str] | None
FeedbackText: TypeAlias = Annotated[str, typer.Option("--feedback", metavar="TEXT", help="What you say about it")]
Rating: TypeAlias = Annotated[int | None, typer.Option("--rating", metavar="N", help="How good it is, from 1 to 5")]
Apply: TypeAlias = Annotated[
    bool, typer.Option("--apply/--no-apply", help="Apply it at once, or let `proposals apply` do that later")
]
Entity: TypeAlias = Annotated[str, typer.Argument(metavar="TYPE/ID", help="The entity, such as task/42")]
Changes: TypeAlias = Annotated[
    Texts, typer.Argument(metavar="FIELD=VALUE", help="A new value as JSON or text; FIELD+=VALUE adds to a list")
]
Deleted: TypeAlias = Annotated[Texts, typer.Option("--delete", metavar="FIELD", help="Remove the value of a field")]
Before: TypeAlias = Annotated[
    Texts, typer.Option("--before", metavar="FIELD=VALUE", help="The value now; with another one nothing is proposed")
]
Rationale: TypeAlias = Annotated[str | None, typer.Option("--rationale", metavar="TEXT", help="Why it should change")]
Category: TypeAlias = Annotated[
    str | None, typer.Option("--category", metavar="CATEGORY", help="bug-fix, cleanup, enhancement, ...")
]
RequestType: TypeAlias = Annotated[
    str | None, typer.Option("--request-type", metavar="TYPE", help="review (default), approve, apply or discuss")
]
Risk: TypeAlias = Annotated[
    str | None, typer.Option("--risk", metavar="LEVEL", help="none, low, medium, high or critical")
]
EstimatedTime: TypeAlias = Annotated[
    str | None, typer.Option("--estimated-time", metavar="TEXT", help="How long it would take")
]
Affects: TypeAlias = Annotated[Texts, typer.Option("--affects", metavar="TYPE/ID", help="Another entity it affects")]
Reversible: TypeAlias = Annotated[
    bool | None, typer.Option("--reversible/--irreversible", help="Whether it can be taken back")
]
Needs: TypeAlias = Annotated[Texts, typer.Option("--needs", metavar="TEXT", help="What has to come before")]
SideEffects: TypeAlias = Annotated[Texts, typer.Option("--side-effect", metavar="TEXT", help="What may happen besides")]
Background: TypeAlias = Annotated[
    str | None, typer.Option("--context", metavar="TEXT", help="What the reader should know")
]
Alternatives: TypeAlias = Annotated[
    Texts, typer.Option("--alternative", metavar="TEXT", help="What could be done instead")
]
RequiredApprovals: TypeAlias = Annotated[
    Texts, typer.Option("--required-approval", metavar="NAME", help="Who has to accept it; all of them have to")
]
Expires: TypeAlias = Annotated[
    str | None,
    typer.Option("--expires", metavar="WHEN", help="When it expires if nobody has accepted it: 7d from now, or a date"),
]
Send: TypeAlias = Annotated[bool, typer.Option("--send", help="Send it to agents with the capability review")]
To: TypeAlias = Annotated[
    Texts, typer.Option("--to", metavar="TARGET", help="Send it: an agent by name or number, @capability, or all")
]


def proposals_create(
    context: typer.Context,
    conversation: ConversationOrBranchArgument,
    entity: Entity,
    changes: Changes = None,
    delete: Deleted = None,
    before: Before = None,
    rationale: Rationale = None,
    confidence: Confidence = None,
    category: Category = None,
    request: RequestType = None,
    risk: Risk = None,
    effort: EstimatedTime = None,
    affects: Affects = None,
    reversible: Reversible = None,
    needs: Needs = None,
    effects: SideEffects = None,
    background: Background = None,
    alternatives: Alternatives = None,
    approvals: RequiredApprovals = None,
    expires: Expires = None,
    send: Send = False,
    to: To = None,
    queue: Queue = False,
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Propose to change fields of an entity.

    Appends a message of the kind proposal. Nothing changes before the proposal is accepted and applied. It remembers
    the values that the fields have now; when one of them has changed, it expires. If one is not what --before says,
    nothing is proposed (exit code 1). A proposal takes the place of your earlier ones about the same field. Without a
    branch it goes to the active one; a note says so while that is where a conflict is being resolved. Words such as
    categories and levels are read in any letter case.

    Examples:
      scopes proposals create conv-001 task/42 status=done --rationale "all tests pass" --confidence 0.85
      scopes proposals create conv-001 task/42 'labels+=ui' --category BUG_FIX --risk LOW --expires 7d
      scopes proposals create conv-001/main task/42 status=review --as planner --send
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    branch = StoreHandle(repository).branch(*split_branch(conversation, None))
    revision = Revision(branch.conversation.id, branch.name, branch.tip)
    invocation.add_notes(resolution_branch_notes(repository, revision, conversation, "proposals create"))
    impact = {
        "estimated_time": effort,
        "risk_level": risk,
        "affected_entities": affects,
        "reversible": reversible,
        "dependencies": needs,
        "potential_side_effects": effects,
    }
    given = {
        "rationale": rationale,
        "confidence": read_confidence("--confidence", confidence),
        "category": category,
        "request_type": request,
        "impact_assessment": _known(impact) or None,
        "context": background,
        "alternative_options": alternatives,
        "required_approvals": approvals,
    }
    if queue and not (send or to):
        raise Invalid("--queue is for a proposal that is sent", hint="add --send or --to")
    result = create_proposal(
        branch,
        entity,
        [*map(_parse_change, changes or ()), *(NewChange(name, "delete") for name in delete or ())],
        author=author_of(invocation, author, author_kind),
        before=parse_values("--before", before),
        details=_known(given),
        expires=expires,
        delivery=Delivery(to or (), queue) if send or to else None,
    )
    return invocation.show(result)


def proposals_list(
    context: typer.Context,
    where: ScopeOrLatestArgument = LATEST,
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="STATE", help="pending, accepted, applied, rejected, superseded, expired, ..."),
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", metavar="AGENT", help="Only proposals of this agent")] = None,
    include_closed: Annotated[bool, typer.Option("--all", help="List closed proposals too")] = False,
) -> int:
    """List the proposals of a conversation, open ones first.

    Open are the pending and the accepted ones. The others were applied, rejected, superseded by a later one of the same
    agent, withdrawn by an amendment of their message, or have expired. The state is that on the active branch, or on
    the first branch that has the proposal; with CONV/BRANCH it is that on the branch.

    Examples:
      scopes proposals list conv-001
      scopes proposals list conv-001/main --state applied
      scopes proposals list --all --agent planner --json
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    return invocation.show(list_proposals(repository, where, state=state, agent=agent, include_closed=include_closed))


def proposals_show(context: typer.Context, first: ScopeOrProposal, second: ProposalAfterScope = None) -> int:
    """Show a proposal, its state and how it got there.

    Examples:
      scopes proposals show p7q2
      scopes proposals show conv-001/main p7q2 --json
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    where, name = split_scope(repository, first, second)
    return invocation.show(show_proposal(repository, where, name))


def proposals_test(context: typer.Context, first: ScopeOrProposal, second: ProposalAfterScope = None) -> int:
    """Show what applying a proposal would change.

    It is applied to a copy that is thrown away: no ref moves, and no operation is recorded. The exit code is 3 if a
    field has another value than the proposal expects.

    Examples:
      scopes proposals test p7q2
      scopes proposals test conv-001 p7q2 --json
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    where, name = split_scope(repository, first, second)
    return invocation.show(try_proposal(repository, where, name, author=author_of(invocation, None, None)))


def proposals_accept(
    context: typer.Context,
    first: ScopeOrProposal,
    second: ProposalAfterScope = None,
    apply: Apply = True,
    feedback: FeedbackText = "",
    rating: Rating = None,
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Accept a proposal, and apply it.

    The values become the accepted values of the entity. With --no-apply the proposal is only accepted; `scopes
    proposals apply` applies it later. A proposal that needs the approval of several agents is accepted when the last of
    them accepts it. `scopes undo` takes all of it back, also an acceptance with --no-apply: an accepted proposal cannot
    be rejected. The time of --expires is for the decision: what was accepted before can be applied after it too.

    Examples:
      scopes proposals accept p7q2 --as carol
      scopes proposals accept conv-001 p7q2 --no-apply --feedback "after the release" --rating 4
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    where, name = split_scope(repository, first, second)
    result = accept_proposal(
        repository,
        where,
        name,
        author=author_of(invocation, author, author_kind),
        feedback=Feedback(feedback, rating),
        apply=apply,
    )
    return invocation.show(result)


def proposals_reject(
    context: typer.Context,
    reason: Annotated[
        str, typer.Option("--reason", metavar="REASON", help="too-risky, poor-timing, unwanted-change, ..., or other")
    ],
    first: ScopeOrProposal,
    second: ProposalAfterScope = None,
    feedback: FeedbackText = "",
    rating: Rating = None,
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Reject a proposal, with a reason.

    The reasons are incorrect-analysis, unwanted-change, poor-timing, insufficient-context, better-alternative-exists,
    too-risky and other; other needs a text, with --feedback.

    Examples:
      scopes proposals reject p7q2 --reason TOO_RISKY --feedback "not before the release"
      scopes proposals reject conv-001 p7q2 --reason poor-timing --as carol
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    where, name = split_scope(repository, first, second)
    result = reject_proposal(
        repository,
        where,
        name,
        reason=reason,
        author=author_of(invocation, author, author_kind),
        feedback=Feedback(feedback, rating),
    )
    return invocation.show(result)


def proposals_modify(
    context: typer.Context,
    first: ScopeOrProposal,
    second: ProposalAfterScope = None,
    values: Annotated[
        Texts, typer.Option("--set", metavar="FIELD=VALUE", help="The value to take instead, as JSON or text")
    ] = None,
    apply: Apply = True,
    feedback: FeedbackText = "",
    rating: Rating = None,
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Accept a proposal with other values, and apply it.

    Only fields that the proposal changes can have another value. Otherwise it is like `scopes proposals accept`.

    Examples:
      scopes proposals modify p7q2 --set owner=carol --as carol
      scopes proposals modify conv-001 p7q2 --set owner=null --no-apply
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    where, name = split_scope(repository, first, second)
    result = modify_proposal(
        repository,
        where,
        name,
        parse_values("--set", values),
        author=author_of(invocation, author, author_kind),
        feedback=Feedback(feedback, rating),
        apply=apply,
    )
    return invocation.show(result)


def proposals_apply(
    context: typer.Context,
    first: ScopeOrProposal,
    second: ProposalAfterScope = None,
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Apply an accepted proposal.

    If a field has another value than the proposal expects, nothing is changed (exit code 3). Other pending proposals
    that expect the value from before expire.

    Examples:
      scopes proposals apply p7q2
      scopes proposals apply conv-001 p7q2 --as carol
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    where, name = split_scope(repository, first, second)
    who = author_of(invocation, author, author_kind)
    return invocation.show(apply_proposal(repository, where, name, author=who))


def proposals_rollback(
    context: typer.Context,
    first: ScopeOrProposal,
    second: ProposalAfterScope = None,
    reason: Reason = "",
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Take back an applied proposal.

    A new message restores the values from before it was applied; if one of them was changed since, nothing is changed
    (exit code 3). `scopes undo` instead takes back your last command.

    Examples:
      scopes proposals rollback p7q2 --reason "the build fails"
      scopes proposals rollback conv-001/main p7q2
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    where, name = split_scope(repository, first, second)
    who = author_of(invocation, author, author_kind)
    return invocation.show(rollback_proposal(repository, where, name, author=who, reason=reason))


def proposals_feedback(
    context: typer.Context,
    first: ScopeOrProposal,
    second: ProposalAfterScope = None,
    feedback: FeedbackText = "",
    rating: Rating = None,
    author: AuthorName = None,
    author_kind: AuthorKind = None,
) -> int:
    """Say how an applied proposal worked out.

    The message is part of the history in `scopes proposals show`. The state of the proposal stays the same; `scopes
    proposals rollback` takes back what was applied.

    Examples:
      scopes proposals feedback p7q2 --rating 5 --feedback "no timeout since then"
      scopes proposals feedback conv-001 p7q2 --rating 2 --as carol
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    where, name = split_scope(repository, first, second)
    who = author_of(invocation, author, author_kind)
    return invocation.show(give_feedback(repository, where, name, Feedback(feedback, rating), author=who))


def split_scope(repository: Repository, first: str, second: str | None) -> tuple[str | None, str]:
    """Split the words `CONV[/BRANCH] PROPOSAL`, or PROPOSAL alone, into where it is and its id.

    Raises:
        Invalid: only a conversation is given, or it comes after the proposal.
    """
    if second is not None:
        if find_conversation(repository, first.partition("/")[0]) is None and find_conversation(repository, second):
            raise conversation_comes_first(first, f"name it first: {second} {first}")
        return first, second
    if not first or find_conversation(repository, first):
        raise Invalid("no proposal given", hint=f"list them: scopes proposals list {quote(first)}".rstrip())
    return None, first


def parse_values(option: str, given: Sequence[str] | None) -> dict[str, Any]:
    """Return the values of an option FIELD=VALUE by field.

    Raises:
        Invalid: one has no `=` or no field.
    """
    found: dict[str, Any] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise Invalid(f"{option} {text!a} is not FIELD=VALUE", hint=f"for example: {option} status=done")
        found[name] = _parse_value(value)
    return found


def _parse_change(text: str) -> NewChange:
    name, equals, value = text.partition("=")
    if not equals or not name.rstrip("+"):
        raise Invalid(f"{text!a} is not FIELD=VALUE", hint="for example: status=done, or labels+=ui for a list")
    if name.endswith("+"):
        return NewChange(name[:-1], "append", _parse_value(value))
    return NewChange(name, "set", _parse_value(value))


def _parse_value(text: str) -> Any:
    """Return a value as JSON, or as text if it is not JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    encoding.dump(value)
    return value


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
