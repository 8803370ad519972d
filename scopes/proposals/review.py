"""`proposals accept`, `reject` and `modify`: decide about a pending proposal; what is accepted is applied at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from shlex import quote
from typing import Any, NamedTuple

from scopes.agents.registry import Registry
from scopes.errors import Invalid, Refused
from scopes.model import encoding
from scopes.model.encoding import leaf
from scopes.model.message import APPROVALS, Author
from scopes.proposals.apply import Application, plan_application
from scopes.proposals.proposal import ACCEPTED, APPLIED, PENDING, REJECTED, REJECTION_REASONS, Proposal
from scopes.proposals.state import Located, locate, with_values
from scopes.proposals.steps import (
    ProposalReviewed,
    Step,
    commit_steps,
    removed_claims,
    require_transition,
    review_claim,
    review_message,
)
from scopes.result import Note
from scopes.store.objects import BlobChange
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

MAX_RATING = 5


class Feedback(NamedTuple):
    """What a reviewer says about a proposal; `rating` is from 1 to 5."""

    text: str = ""
    rating: int | None = None


def accept_proposal(
    repository: Repository,
    where: str | None,
    name: str,
    *,
    author: Author,
    feedback: Feedback | None = None,
    apply: bool = True,
) -> ProposalReviewed:
    """Accept a pending proposal and, with `apply`, apply it in the same operation.

    If it needs the approval of several, it is accepted when the last of them accepts it.

    Raises:
        NotFound, Ambiguous: there is no such proposal, or there are several.
        Refused: it is not pending, or the approval of somebody else is needed.
        Invalid: the rating is not one.
    """
    details = feedback_details(feedback)
    with exclusive_write(repository):
        found = locate(repository, where, name)
        require_transition(found, ACCEPTED)
        waiting, approval = _approve(found, author)
        if waiting:
            message = review_message(found.proposal, author, "approve", PENDING, details)
            approvals = {*found.proposal.approvals, _asked_name(found, author)}
            approved = replace(found.proposal, approvals=tuple(sorted(approvals)))
            return replace(_write(found, approved, "approve", Step(message, approval)), waiting_for=waiting)
        message = review_message(found.proposal, author, "accept", ACCEPTED, details)
        changes = {**approval, **review_claim(found.proposal, ACCEPTED)}
        application = plan_application(found, author) if apply else None
        return _write(found, replace(found.proposal, state=ACCEPTED), "accept", Step(message, changes), application)


def modify_proposal(
    repository: Repository,
    where: str | None,
    name: str,
    values: Mapping[str, Any],
    *,
    author: Author,
    feedback: Feedback | None = None,
    apply: bool = True,
) -> ProposalReviewed:
    """Accept a pending proposal with other values for some of its fields; raises as `accept_proposal` does."""
    details = feedback_details(feedback)
    if not values:
        raise Invalid("no other value was given", hint="for example: --set status=review")
    with exclusive_write(repository):
        found = locate(repository, where, name)
        require_transition(found, ACCEPTED)
        proposal = found.proposal
        unknown = next((field for field in values if field not in proposal.fields), None)
        if unknown is not None:
            raise Invalid(f"the proposal does not change {unknown!a}", hint="its fields: " + ", ".join(proposal.fields))
        waiting = [each for each in proposal.required_approvals if each != _asked_name(found, author)]
        if waiting:
            names = ", ".join(waiting)
            create = f"scopes proposals create {quote(str(found.branch))} {quote(proposal.entity)} ..."
            hint = f"let them approve the new values: {create}"
            raise Refused(f"a change of the proposal needs the approval of {names} too", hint=hint)
        modified = replace(proposal, modified=dict(values), changes=with_values(proposal.changes, dict(values)))
        found = found._replace(proposal=modified)
        message = review_message(proposal, author, "modify", ACCEPTED, {**details, "values": dict(values)})
        step = Step(message, review_claim(modified, ACCEPTED))
        application = plan_application(found, author) if apply else None
        return _write(found, replace(modified, state=ACCEPTED), "modify", step, application)


def reject_proposal(
    repository: Repository,
    where: str | None,
    name: str,
    *,
    reason: str,
    author: Author,
    feedback: Feedback | None = None,
) -> ProposalReviewed:
    """Reject a pending proposal, for one of REJECTION_REASONS.

    Raises:
        NotFound, Ambiguous: there is no such proposal, or there are several.
        Refused: it is not pending.
        Invalid: there is no such reason, or it is `other` and nothing was said about it.
    """
    word = reason.strip().lower().replace("_", "-")
    if word not in REJECTION_REASONS:
        raise Invalid(f"{reason!a} is not a reason to reject", hint="reasons: " + ", ".join(REJECTION_REASONS))
    details = {"reason": word, **feedback_details(feedback)}
    if word == "other" and "feedback" not in details:
        raise Invalid("the reason other needs a text", hint="for example: --reason 'not before the release'")
    with exclusive_write(repository):
        found = locate(repository, where, name)
        require_transition(found, REJECTED)
        message = review_message(found.proposal, author, "reject", REJECTED, details)
        changes = {
            **removed_claims(repository, found.tip, found.proposal),
            **review_claim(found.proposal, REJECTED),
        }
        return _write(found, replace(found.proposal, state=REJECTED), "reject", Step(message, changes))


def feedback_details(feedback: Feedback | None) -> dict[str, Any]:
    """Return the fields of a message that hold what a reviewer says.

    Raises:
        Invalid: the rating is not one.
    """
    text, rating = feedback or Feedback()
    if rating is not None and not 1 <= rating <= MAX_RATING:
        raise Invalid(f"{rating} is not a rating", hint=f"from 1 to {MAX_RATING}")
    known = {"feedback": text.strip() or None, "rating": rating}
    return {name: value for name, value in known.items() if value is not None}


def _approve(found: Located, author: Author) -> tuple[tuple[str, ...], dict[str, BlobChange]]:
    """Return who else has to approve a proposal, and the change to the state that records the approval of an author.

    Raises:
        Refused: the author need not approve it, or has done so.
    """
    proposal = found.proposal
    missing = tuple(name for name in proposal.required_approvals if name not in proposal.approvals)
    if not missing:
        return (), {}
    names, asked = ", ".join(missing), _asked_name(found, author)
    if asked not in missing:
        done = "has approved it already" if asked in proposal.approvals else "is not asked to approve it"
        hint = f"it waits for {names}: scopes proposals accept {proposal.id[:12]} --as {quote(missing[0])}"
        raise Refused(f"{author.name} {done}", hint=hint)
    claim: dict[str, BlobChange] = {leaf(APPROVALS, proposal.id, asked): encoding.dump({"approved": True})}
    return tuple(name for name in missing if name != asked), claim


def _asked_name(found: Located, author: Author) -> str:
    """Return the name by which the approval of an author is asked for: an earlier one, if the agent has another now."""
    asked = found.proposal.required_approvals
    if not asked or author.name in asked:
        return author.name
    names = Registry(found.branch.repository).names_of(author.name)
    return next((name for name in asked if name in names), author.name)


def _write(
    found: Located, proposal: Proposal, decision: str, step: Step, application: Application | None = None
) -> ProposalReviewed:
    is_own = decision != "reject" and step.message.author.name == proposal.agent
    notes = (Note(f"{proposal.agent} decided about a proposal of its own"),) if is_own else ()
    if application is None:
        return replace(commit_steps(found, proposal, [step], decision), notes=notes)
    done = commit_steps(found, replace(proposal, state=APPLIED), [step, application.step], decision)
    return replace(done, values=application.values, expired=application.expired, notes=notes)
