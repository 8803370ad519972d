"""Facts, proposals and runs as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scopes.facts.cycle_record import describe_cycle
from scopes.facts.fact import describe
from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire

if TYPE_CHECKING:
    from scopes.facts.decide import FactDecided, FactPromoted
    from scopes.facts.fact import HumanDecision
    from scopes.facts.list import (
        EligibleAgents,
        FactList,
        FactLog,
        FactRow,
        FactView,
        ProposedFactList,
        ProposedFactView,
        ProposedRow,
    )
    from scopes.facts.propose import FactProposed, KeyAdded
    from scopes.facts.run import FactRun


@to_wire.register
def format_fact_list(result: FactList) -> dict[str, object]:
    """Return the facts by conversation, key and id."""
    return {"kind": "fact-list", "facts": [_fact_object(row) for row in result.rows]}


@to_wire.register
def format_proposed_fact_list(result: ProposedFactList) -> dict[str, object]:
    """Return the proposals, and the questions that wait for a person."""
    questions = [
        {
            "conversation": row.conversation,
            "id": row.question.id,
            "key": row.question.key,
            "text": row.question.text,
            "agent": row.question.agent,
        }
        for row in result.questions
    ]
    return {
        "kind": "proposed-fact-list",
        "questions": questions,
        "proposals": [_proposed_object(row) for row in result.rows],
    }


@to_wire.register
def format_fact_view(result: FactView) -> dict[str, object]:
    """Return a fact with how it came about."""
    applied = result.applied
    return without_none(
        kind="fact",
        **_fact_object(result.row),
        commit=result.commit,
        added=result.added,
        cycle=result.cycle,
        position=None if applied is None else applied.position,
        because=list(result.because),
        read=list(result.read),
        decision=_decision_object(result.decision),
    )


@to_wire.register
def format_proposed_fact_view(result: ProposedFactView) -> dict[str, object]:
    """Return a proposal, and why it cannot be promoted."""
    return without_none(
        kind="proposed-fact",
        **_proposed_object(result.row),
        problems=list(result.problems),
        decision=_decision_object(result.decision),
    )


@to_wire.register
def format_fact_proposed(result: FactProposed) -> dict[str, object]:
    """Return a proposal that was stored; without an operation it was there already."""
    fact = result.fact
    return without_none(
        kind="proposed-fact",
        conversation=result.conversation,
        **describe(fact),
        proposed=fact.proposed,
        expires=fact.expires,
        state="accepted" if result.is_fact else fact.state,
        operation=result.operation,
    )


@to_wire.register
def format_key_added(result: KeyAdded) -> dict[str, object]:
    """Return a context key; without an operation it was there already."""
    return without_none(kind="fact-key", key=result.key, operation=result.operation)


@to_wire.register
def format_fact_promoted(result: FactPromoted) -> dict[str, object]:
    """Return the fact that a proposal became."""
    return without_none(
        kind="fact",
        conversation=result.conversation,
        **describe(result.fact),
        validation=result.fact.validation,
        version=result.fact.version,
        decision=_decision_object(result.decision),
        operation=result.operation,
    )


@to_wire.register
def format_fact_decided(result: FactDecided) -> dict[str, object]:
    """Return what a person decided."""
    return {
        "kind": "fact-decision",
        "conversation": result.conversation,
        **(_decision_object(result.decision) or {}),
        "operation": result.operation,
    }


@to_wire.register
def format_fact_run(result: FactRun) -> dict[str, object]:
    """Return the cycles of a run, and why it ended."""
    return {
        "kind": "fact-run",
        "conversation": result.conversation,
        "ending": result.ending,
        "version": result.version,
        "added": result.added,
        "failed": list(result.failed),
        "waiting": result.waiting,
        "operations": list(result.operations),
        "cycles": [describe_cycle(cycle) for cycle in result.cycles],
    }


@to_wire.register
def format_fact_log(result: FactLog) -> dict[str, object]:
    """Return the cycles of a conversation, newest first, and the decisions of people, oldest first."""
    return {
        "kind": "fact-log",
        "conversation": result.conversation,
        "decisions": [_decision_object(each) for each in result.decisions],
        "cycles": [describe_cycle(cycle) for cycle in result.cycles],
    }


@to_wire.register
def format_eligible_agents(result: EligibleAgents) -> dict[str, object]:
    """Return the agents that the next cycle would run, and the dirty keys."""
    return {
        "kind": "eligible-agents",
        "conversation": result.conversation,
        "dirty": list(result.dirty),
        "agents": [
            {"number": row.agent.number, "name": row.agent.name, "because": list(row.because)} for row in result.rows
        ],
    }


def _fact_object(row: FactRow) -> dict[str, Any]:
    fact = row.fact
    return without_none(
        conversation=row.conversation,
        **describe(fact),
        validation=fact.validation,
        version=fact.version,
        taken_back_by=row.taken_back_by,
    )


def _proposed_object(row: ProposedRow) -> dict[str, Any]:
    proposal = row.proposal
    return without_none(
        conversation=row.conversation,
        **describe(proposal),
        proposed=proposal.proposed,
        expires=proposal.expires,
        state=row.state,
        reason=proposal.reason,
    )


def _decision_object(decision: HumanDecision | None) -> dict[str, str] | None:
    if decision is None:
        return None
    return {
        "subject": decision.subject,
        "decision": decision.decision,
        "rationale": decision.rationale,
        "actor": decision.actor,
        "timestamp": decision.timestamp,
    }
