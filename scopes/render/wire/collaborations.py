"""Collaborations as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.model.message import evidence_object
from scopes.render.dispatch import to_wire

if TYPE_CHECKING:
    from scopes.collaboration.contribute import CollaborationChanged
    from scopes.collaboration.debate import Debate
    from scopes.collaboration.report import Collaboration, CollaborationList, CollaborationReport
    from scopes.collaboration.start import CollaborationStarted
    from scopes.merge.conflicts import ConflictRow
    from scopes.model.message import Position


@to_wire.register
def format_collaboration_started(result: CollaborationStarted) -> dict[str, object]:
    """Return a collaboration that was opened, and who was asked."""
    return {
        "kind": "collaboration-started",
        "conversation": result.conversation,
        "branch": result.branch,
        "type": result.type,
        "task": result.task,
        "message": result.message,
        "delivered_to": list(result.delivered_to),
        "queued_for": list(result.queued_for),
        "operation": result.operation,
    }


@to_wire.register
def format_collaboration_changed(result: CollaborationChanged) -> dict[str, object]:
    """Return what somebody did in a collaboration."""
    return without_none(
        kind="collaboration-changed",
        conversation=result.conversation,
        branch=result.branch,
        change=result.change,
        author=result.author,
        message=result.message,
        about=result.about,
        outcome=result.outcome,
        operation=result.operation,
        report=None if result.report is None else format_collaboration_report(result.report),
    )


@to_wire.register
def format_collaboration_list(result: CollaborationList) -> dict[str, object]:
    """Return the collaborations, open ones first, the newest first."""
    return {"kind": "collaboration-list", "collaborations": [_collaboration_object(row) for row in result.rows]}


@to_wire.register
def format_collaboration_report(result: CollaborationReport) -> dict[str, object]:
    """Return a collaboration with positions, decisions and conflicts."""
    return {
        "kind": "collaboration",
        **_collaboration_object(result.collaboration),
        "positions": [argument_object(each) for each in result.positions],
        "consensus": [
            {
                "about": each.about,
                "reached": each.is_reached,
                "holders": [{"position": position, "agents": list(names)} for position, names in each.holders],
            }
            for each in result.consensus
        ],
        "debates": [_debate_object(each) for each in result.debates],
        "decisions": [without_none(**each._asdict()) for each in result.decisions],
        "conflicts": [_conflict_object(row) for row in result.conflicts],
    }


def _collaboration_object(each: Collaboration) -> dict[str, object]:
    return without_none(
        conversation=each.conversation,
        branch=each.branch,
        type=each.type,
        task=each.task,
        urgency=each.urgency,
        requester=each.requester,
        entity=each.entity,
        status=each.status,
        merged_into=each.merged_into,
        opened=each.opened,
        closed=each.closed,
        outcome=each.outcome,
        participants=[
            without_none(
                name=one.name, joined=one.joined, messages=one.messages, unread=one.is_unread, asked=one.is_asked
            )
            for one in each.participants
        ],
        messages=each.messages,
        open_conflicts=each.open_conflicts,
    )


def _debate_object(debate: Debate) -> dict[str, object]:
    return {
        "about": debate.about,
        "phase": debate.phase,
        "common_ground": [{"text": each.text, "agents": list(each.agents)} for each in debate.common_ground],
        "choices": [
            without_none(
                position=each.position,
                holders=list(each.holders),
                accepted_by=list(each.accepted_by),
                confidence=each.confidence,
                evidence=each.evidence,
                weight=each.weight,
            )
            for each in debate.choices
        ],
    }


def argument_object(each: Position) -> dict[str, object]:
    """Return what somebody holds, and what speaks for it."""
    argument = each.argument
    return without_none(
        author=each.author,
        time=each.time,
        message=each.message,
        about=argument.about,
        position=argument.position,
        confidence=argument.confidence,
        reasoning=list(argument.reasoning),
        evidence=[evidence_object(one) for one in argument.evidence],
        trade_offs=list(argument.trade_offs),
        alternatives=list(argument.alternatives),
    )


def _conflict_object(row: ConflictRow) -> dict[str, object]:
    resolution = row.conflict.resolution
    return without_none(
        id=row.conflict.id,
        type=row.conflict.type,
        key=row.conflict.key,
        status=row.conflict.status,
        strategy=None if resolution is None else resolution.strategy,
        choice=None if resolution is None else resolution.choice,
        value=None if resolution is None else resolution.value,
        reason=None if resolution is None else resolution.reason or None,
        actor=None if resolution is None else resolution.actor,
    )
