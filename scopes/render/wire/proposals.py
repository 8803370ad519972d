"""Proposals as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.text.phrases import confidence

if TYPE_CHECKING:
    from scopes.proposals.apply import ProposalTested
    from scopes.proposals.create import ProposalCreated
    from scopes.proposals.list import ProposalEvent, ProposalList, ProposalView
    from scopes.proposals.proposal import FieldChange, Proposal
    from scopes.proposals.steps import ProposalReviewed, ValueChange


@to_wire.register
def format_proposal_list(result: ProposalList) -> dict[str, object]:
    """Return the proposals, open ones first."""
    rows = [{**proposal_object(row.proposal), "branch": row.branch} for row in result.rows]
    return {"kind": "proposal-list", "conversation": result.conversation, "proposals": rows}


@to_wire.register
def format_proposal_view(result: ProposalView) -> dict[str, object]:
    """Return one proposal with its history and, if it can be rolled back, how."""
    proposal = result.proposal
    rollback: dict[str, object] | None = None
    if result.rollback_version is not None:
        changes = [without_none(field=each.field, before=each.result, after=each.before) for each in proposal.changes]
        rollback = {"can_rollback": True, "version": result.rollback_version, "changes": changes}
    return {
        "kind": "proposal",
        **proposal_object(proposal),
        "conversation": result.conversation,
        "branch": result.branch,
        "history": [_event_object(event) for event in result.history],
        **without_none(
            reviewed_at=_time_of(result, "accept", "modify", "reject"),
            applied_at=_time_of(result, "apply"),
            rollback=rollback,
        ),
    }


@to_wire.register
def format_proposal_created(result: ProposalCreated) -> dict[str, object]:
    """Return a new proposal and to whom it was sent."""
    return {
        "kind": "proposal-created",
        "id": result.id,
        "oid": result.oid,
        "conversation": result.conversation,
        "branch": result.branch,
        "entity_type": result.entity_type,
        "entity_id": result.entity_id,
        "changes": [change_object(change) for change in result.changes],
        "state": "pending",
        "supersedes": list(result.supersedes),
        "delivered_to": list(result.delivered_to),
        "queued_for": list(result.queued_for),
    }


@to_wire.register
def format_proposal_reviewed(result: ProposalReviewed) -> dict[str, object]:
    """Return a proposal with its new state, and the accepted values that were changed."""
    return {
        "kind": "proposal-reviewed",
        "id": result.proposal.id,
        "decision": result.decision,
        "state": result.proposal.state,
        "rolled_back": result.proposal.rolled_back,
        "conversation": result.conversation,
        "branch": result.branch,
        "entity_type": result.proposal.entity_type,
        "entity_id": result.proposal.entity_id,
        "values": [_value_object(value) for value in result.values],
        "expired": list(result.expired),
        "waiting_for": list(result.waiting_for),
        "messages": list(result.messages),
        "operation": result.operation,
    }


@to_wire.register
def format_proposal_tested(result: ProposalTested) -> dict[str, object]:
    """Return what applying a proposal would change, with `conflict` for values that it does not expect."""
    return {
        "kind": "proposal-test",
        "id": result.proposal.id,
        "state": result.proposal.state,
        "conversation": result.conversation,
        "branch": result.branch,
        "entity_type": result.proposal.entity_type,
        "entity_id": result.proposal.entity_id,
        "values": [_value_object(value) for value in result.values],
        "conflicts": result.conflicts,
        "expired": list(result.expired),
    }


def proposal_object(proposal: Proposal) -> dict[str, object]:
    """Return a proposal with the fields of its document; its confidence also as a word."""
    level = None if proposal.confidence is None else confidence(proposal.confidence).partition(" (")[0]
    return without_none(
        id=proposal.id,
        oid=proposal.oid,
        entity_type=proposal.entity_type,
        entity_id=proposal.entity_id,
        entity=proposal.entity,
        changes=[change_object(change) for change in proposal.changes],
        agent=proposal.agent,
        state=proposal.state,
        created=proposal.time,
        **{name: proposal.details.get(name) for name in _DETAILS},
        confidence_level=None if level is None else level.lower().replace(" ", "-"),
        superseded_by=proposal.superseded_by,
        rolled_back=proposal.rolled_back or None,
        approvals=list(proposal.approvals) or None,
    )


_DETAILS = (
    "confidence", "category", "request_type", "rationale", "impact_assessment", "context", "alternative_options",
    "required_approvals", "expires_at",
)  # fmt: skip


def change_object(change: FieldChange) -> dict[str, object]:
    """Return a change; `before` and `after` are null if there is no value."""
    return {
        "field": change.field,
        "operation": change.operation,
        "before": change.before,
        "after": change.after,
    }


def _value_object(value: ValueChange) -> dict[str, object]:
    return {
        "field": value.field,
        "before": value.before,
        "current": value.current,
        "after": value.after,
        "conflict": value.conflict,
    }


def _time_of(result: ProposalView, *decisions: str) -> str | None:
    """Return the time of the last of some decisions; None if there is none."""
    return next((event.time for event in reversed(result.history) if event.decision in decisions), None)


def _event_object(event: ProposalEvent) -> dict[str, object]:
    return {
        **event.details,
        "message": event.message,
        "decision": event.decision,
        "state": event.state,
        "author": event.author,
        **without_none(time=event.time),
    }
