"""`scopes proposals`: proposed changes of entities."""

from __future__ import annotations

import json
from collections.abc import Sequence
from shlex import quote
from typing import Annotated, Any, TypeAlias

from scopes.cli.invocation import Invocation
from scopes.cli.options import (
    LATEST,
    Confidence,
    Data,
    LatestScope,
    OnlyAgent,
    Queue,
    Reason,
    Text,
    To,
    argument,
    author_of,
    option,
    read_confidence,
    read_fields,
)
from scopes.cli.words import find_conversation, split_branch
from scopes.errors import Invalid
from scopes.history.handles import StoreHandle
from scopes.history.names import Revision
from scopes.merge.in_progress import resolution_branch_notes
from scopes.model import canonical_json
from scopes.proposals.list import list_proposals, show_proposal
from scopes.proposals.review import (
    REJECTION_REASONS,
    Feedback,
    NewChange,
    accept_proposal,
    apply_proposal,
    create_proposal,
    reject_proposal,
    rollback_proposal,
    try_proposal,
)
from scopes.store.repository import Repository

ScopeOrProposal: TypeAlias = Annotated[
    str, argument("[CONV] ID", "The proposal: its id or a unique prefix; CONV or CONV/BRANCH if several have it")
]
ProposalAfterScope: TypeAlias = Annotated[Text, argument("ID", hidden=True)]
Texts: TypeAlias = list[str] | None


def proposals_create(
    invocation: Invocation,
    words: Annotated[
        list[str],
        argument(
            "[WHERE] TYPE/ID FIELD=VALUE...",
            "The branch (default: @), the entity, and new values; FIELD+=VALUE adds",
        ),
    ],
    delete: Annotated[Texts, option("--delete FIELD", "Remove the value of a field")] = None,
    before: Annotated[Texts, option("--before FIELD=VALUE", "The value now; another one refuses it")] = None,
    rationale: Annotated[Text, option("--rationale TEXT", "Why it should change")] = None,
    confidence: Confidence = None,
    expires: Annotated[Text, option("--expires WHEN", "When it expires: 7d, or a date")] = None,
    to: To = None,
    queue: Queue = False,
    data: Data = None,
) -> int:
    """Propose to change fields of an entity.

    Nothing changes before the proposal is accepted and applied. It takes the place of your earlier ones about the same
    field. Further fields of --data: category, impact_assessment, alternative_options, required_approvals, context.

    Examples:
      scopes proposals create @ task/42 state=done --rationale 'tests pass'
      scopes proposals create @ task/42 tags+=urgent --to @review
    """
    if queue and not to:
        raise Invalid("--queue is for a proposal that is sent", hint="add --to")
    has_place = len(words) > 1 and "=" not in words[0] and "=" not in words[1]
    where, entity, *values = words if has_place else [LATEST, *words]
    changes = [*map(_parse_change, values), *(NewChange(name, "delete") for name in delete or ())]
    given = {"rationale": rationale, "confidence": read_confidence("--confidence", confidence)}
    details = {**read_fields(invocation, data), **{key: value for key, value in given.items() if value is not None}}
    repository = invocation.repository()
    branch = StoreHandle(repository).branch(*split_branch(where, None))
    revision = Revision(branch.conversation.id, branch.name, branch.tip)
    invocation.add_notes(resolution_branch_notes(repository, revision, where, "proposals create"))
    result = create_proposal(
        branch,
        entity,
        changes,
        author=author_of(invocation),
        before=parse_values("--before", before),
        details=details,
        expires=expires,
        to=to or None,
        queue=queue,
    )
    return invocation.show(result)


def proposals_list(
    invocation: Invocation,
    where: LatestScope = LATEST,
    include_closed: Annotated[bool, option("-a, --all", "Also closed ones")] = False,
    agent: OnlyAgent = None,
    state: Annotated[Text, option("--state STATE", "pending, accepted, rejected, applied, ...")] = None,
) -> int:
    """List proposals, open ones first.

    Pending and accepted proposals are open, all others are closed.

    Examples:
      scopes proposals
      scopes proposals list -a --agent bot
    """
    repository = invocation.repository()
    return invocation.show(list_proposals(repository, where, state=state, agent=agent, include_closed=include_closed))


def proposals_show(invocation: Invocation, first: ScopeOrProposal, second: ProposalAfterScope = None) -> int:
    """Show a proposal, and how it got there.

    Examples:
      scopes proposals show 7d2e
      scopes show 7d2e
    """
    repository = invocation.repository()
    return invocation.show(show_proposal(repository, *_split_scope(repository, first, second)))


def proposals_test(invocation: Invocation, first: ScopeOrProposal, second: ProposalAfterScope = None) -> int:
    """Show what applying it would change.

    The exit code is 3 if a field has another value than the proposal expects.

    Examples:
      scopes proposals test 7d2e
      scopes proposals test 7d2e --json
    """
    repository = invocation.repository()
    where, name = _split_scope(repository, first, second)
    return invocation.show(try_proposal(repository, where, name))


def proposals_accept(
    invocation: Invocation,
    first: ScopeOrProposal,
    second: ProposalAfterScope = None,
    reason: Reason = "",
    values: Annotated[Texts, option("--set FIELD=VALUE", "Another value than proposed")] = None,
    no_apply: Annotated[bool, option("--no-apply", "Leave that to proposals apply")] = False,
) -> int:
    """Accept a proposal, and apply it.

    One that needs the approval of several is accepted when the last of them accepts it. An accepted proposal cannot be
    rejected; undo takes the acceptance back.

    Examples:
      scopes proposals accept 7d2e
      scopes proposals accept 7d2e --set state=review
    """
    repository = invocation.repository()
    changed = parse_values("--set", values)
    where, name = _split_scope(repository, first, second)
    author, feedback = author_of(invocation), Feedback(reason)
    return invocation.show(
        accept_proposal(repository, where, name, author=author, values=changed, feedback=feedback, apply=not no_apply)
    )


def proposals_reject(
    invocation: Invocation,
    reason: Annotated[str, option("--reason REASON", "incorrect-analysis, poor-timing, ..., or a text")],
    first: ScopeOrProposal,
    second: ProposalAfterScope = None,
) -> int:
    """Reject a proposal, with a reason.

    The reasons are incorrect-analysis, unwanted-change, poor-timing, insufficient-context, better-alternative-exists
    and too-risky; any other text is a reason of its own.

    Examples:
      scopes proposals reject 7d2e --reason poor-timing
      scopes proposals reject 7d2e --reason 'not now'
    """
    repository = invocation.repository()
    where, name = _split_scope(repository, first, second)
    is_known = reason.strip().lower().replace("_", "-") in REJECTION_REASONS
    result = reject_proposal(
        repository,
        where,
        name,
        reason=reason if is_known else "other",
        author=author_of(invocation),
        feedback=Feedback("" if is_known else reason),
    )
    return invocation.show(result)


def proposals_apply(invocation: Invocation, first: ScopeOrProposal, second: ProposalAfterScope = None) -> int:
    """Apply an accepted proposal.

    If a field has another value than the proposal expects, nothing is changed (exit code 3).

    Examples:
      scopes proposals apply 7d2e
      scopes proposals apply 7d2e --dry-run
    """
    repository = invocation.repository()
    where, name = _split_scope(repository, first, second)
    return invocation.show(apply_proposal(repository, where, name, author=author_of(invocation)))


def proposals_rollback(
    invocation: Invocation, first: ScopeOrProposal, second: ProposalAfterScope = None, reason: Reason = ""
) -> int:
    """Take back an applied proposal.

    A new message restores the values from before; if one was changed since, nothing is changed (exit code 3).

    Examples:
      scopes proposals rollback 7d2e --reason 'tests fail'
      scopes proposals rollback 7d2e --dry-run
    """
    repository = invocation.repository()
    where, name = _split_scope(repository, first, second)
    return invocation.show(rollback_proposal(repository, where, name, author=author_of(invocation), reason=reason))


def _split_scope(repository: Repository, first: str, second: str | None) -> tuple[str | None, str]:
    """Split the words `CONV[/BRANCH] PROPOSAL`, or PROPOSAL alone, into where it is and its id.

    Raises:
        Invalid: only a conversation is given.
    """
    if second is not None:
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
    canonical_json.dump(value)
    return value
