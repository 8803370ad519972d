"""Render proposals: the list, one proposal with its history, what was created, reviewed or tested."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Any

from scopes.agents.send import describe_receivers
from scopes.proposals.proposal import describe_change, show_value
from scopes.render.dispatch import render_text
from scopes.render.text.phrases import (
    SHORT_ID_LENGTH,
    UNDO_HINT,
    WIDE,
    confidence,
    full_time,
    identifier,
    short_time,
    write_field,
    write_hint,
)
from scopes.render.view import Cell, Column, Span, View

if TYPE_CHECKING:
    from scopes.proposals.apply import ProposalTested
    from scopes.proposals.create import ProposalCreated
    from scopes.proposals.list import ProposalEvent, ProposalList, ProposalRow, ProposalView
    from scopes.proposals.proposal import Proposal
    from scopes.proposals.steps import ProposalReviewed, ValueChange
    from scopes.render.color import Style

_STYLES: dict[str, Style] = {
    "pending": "active", "accepted": "active", "applied": "good", "rejected": "bad", "superseded": "dim",
    "expired": "dim", "withdrawn": "dim",
}  # fmt: skip
_COLUMNS = (
    Column("ID"), Column("Entity"), Column("Field"), Column("Agent"), Column("State"), Column("Confidence"),
    Column("Created"), Column("Branch"), Column("Changes"),
)  # fmt: skip
_TERMINAL_COLUMNS = (
    Column("ID", "id"),
    Column("Entity", flexible=True),
    Column("Change", flexible=True),
    Column("Agent", "agent", flexible=True),
    Column("State"),
    Column("Confidence"),
    Column("Age", "time"),
)
_TEST_COLUMNS = Column("Field"), Column("Before"), Column("Current"), Column("After"), Column("Conflict")
_FIELDS = {
    "rationale": "Rationale",
    "category": "Category",
    "request_type": "Request",
    "context": "Context",
    "alternative_options": "Alternatives",
    "required_approvals": "Needs approval of",
}
_IMPACT_FIELDS = {
    "risk_level": "Risk",
    "estimated_time": "Estimated time",
    "affected_entities": "Affects",
    "reversible": "Reversible",
    "dependencies": "Depends on",
    "potential_side_effects": "Side effects",
}


@render_text.register
def render_proposal_list(result: ProposalList, view: View) -> None:
    """Write a row for each proposal."""
    if not view.terminal:
        view.rows(_COLUMNS, (_row(row, view) for row in result.rows))
    elif not result.rows:
        view.line("no open proposals" if result.notes else "no proposals")
        write_hint(view, f"propose a change: scopes proposals create {quote(result.conversation)} TYPE/ID FIELD=VALUE")
    else:
        crowded = {"Confidence"} if view.width < WIDE else set()
        columns = [replace(column, hidden=column.name in crowded) for column in _TERMINAL_COLUMNS]
        view.rows(columns, [_terminal_row(row, view) for row in result.rows], title="Proposals")


@render_text.register
def render_proposal_view(result: ProposalView, view: View) -> None:
    """Write all that is known about a proposal."""
    proposal = result.proposal
    view.line(identifier(view, proposal.id), " ", _state(proposal), " ", Span(proposal.entity, "heading"))
    for change in proposal.changes:
        view.sentence(describe_change(change), indent=4)
    write_field(view, "Branch", Span(f"{result.conversation}/{result.branch}", "branch"))
    write_field(view, "Agent", Span(proposal.agent, "agent"))
    write_field(view, "Created", full_time(view, proposal.time))
    if proposal.confidence is not None:
        write_field(view, "Confidence", confidence(proposal.confidence))
    _write_details(proposal, view)
    if proposal.is_withdrawn:
        done = "retracted" if proposal.is_retracted else "amended"
        write_field(view, "Message", f"{done} since: scopes changes {quote(result.conversation)}")
    if proposal.superseded_by is not None:
        write_field(view, "Superseded by", identifier(view, proposal.superseded_by))
    if result.rollback_version is not None:
        write_field(view, "Rollback to", identifier(view, result.rollback_version))
    view.line("History:")
    for event in result.history:
        view.sentence(*_event(event, view), indent=4)


@render_text.register
def render_proposal_created(result: ProposalCreated, view: View) -> None:
    """Write what was proposed; in a pipe the id."""
    sent = list(filter(None, describe_receivers(result.delivered_to, result.queued_for).split("; ")))
    sent += (
        [f"supersedes {', '.join(each[:SHORT_ID_LENGTH] for each in result.supersedes)}"] if result.supersedes else []
    )
    name = identifier(view, result.id)
    if not view.terminal:
        view.line(name)
        for text in sent:
            view.aside(text)
        return
    view.sentence("proposed ", name, " for ", Span(f"{result.entity_type}/{result.entity_id}", "heading"))
    for change in result.changes:
        view.sentence(describe_change(change), indent=4)
    for text in sent:
        view.aside(text)
    write_hint(view, UNDO_HINT)


@render_text.register
def render_proposal_reviewed(result: ProposalReviewed, view: View) -> None:
    """Write the new state and the values that were changed; in a pipe the id of the proposal."""
    proposal = result.proposal
    name = identifier(view, proposal.id)
    remarks = [f"waiting for the approval of {', '.join(result.waiting_for)}"] if result.waiting_for else []
    remarks += [f"expired: {', '.join(each[:SHORT_ID_LENGTH] for each in result.expired)}"] if result.expired else []
    if not view.terminal:
        view.line(name)
        for text in remarks:
            view.aside(text)
        return
    view.sentence(
        "proposal ",
        name,
        " for ",
        Span(proposal.entity, "heading"),
        " is still " if result.waiting_for or result.decision == "outcome" else " is now ",
        Span("rolled back", "dim") if result.decision == "rollback" else _state(proposal),
    )
    for value in result.values:
        view.sentence(f"{value.field}: {show_value(value.current)} -> {show_value(value.after)}", indent=4)
    for text in remarks:
        view.aside(text)
    if proposal.state == "accepted":
        write_hint(view, f"apply it: scopes proposals apply {proposal.id[:SHORT_ID_LENGTH]}")
    write_hint(view, UNDO_HINT)


@render_text.register
def render_proposal_tested(result: ProposalTested, view: View) -> None:
    """Write each field with what it would be, and what the proposal expects if that is something else."""
    if not view.terminal:
        view.rows(_TEST_COLUMNS, map(_tested_row, result.values))
        return
    proposal = result.proposal
    name = identifier(view, proposal.id)
    outcome = Span("would stop on a conflict", "bad") if result.conflicts else Span("can be applied", "good")
    view.sentence("proposal ", name, " for ", Span(proposal.entity, "heading"), " ", outcome, ":")
    for value in result.values:
        conflict = (Span(f", but the proposal expects {show_value(value.before)}", "bad"),) if value.conflict else ()
        view.sentence(f"{value.field}: {show_value(value.current)} -> {show_value(value.after)}", *conflict, indent=4)
    if result.expired:
        view.line("would expire: ", ", ".join(each[:SHORT_ID_LENGTH] for each in result.expired))


def _state(proposal: Proposal) -> Span:
    name = f"{proposal.state}, rolled back" if proposal.rolled_back else proposal.state
    return Span(name, "dim" if proposal.rolled_back else _STYLES.get(proposal.state, ""))


def _write_details(proposal: Proposal, view: View) -> None:
    impact = proposal.details.get("impact_assessment")
    known = [(_FIELDS[name], proposal.details.get(name)) for name in _FIELDS]
    known += [(name, impact.get(key)) for key, name in _IMPACT_FIELDS.items()] if isinstance(impact, dict) else []
    for name, value in known:
        if value is not None:
            write_field(view, name, _detail(value))
    if proposal.expires_at is not None:
        write_field(view, "Expires", full_time(view, proposal.expires_at))
    if proposal.required_approvals and proposal.approvals:
        write_field(view, "Approved by", ", ".join(proposal.approvals))


def _detail(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_detail, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(value.split()) if isinstance(value, str) else show_value(value)


def _event(event: ProposalEvent, view: View) -> tuple[str | Span, ...]:
    words = [f"{event.decision}: {event.state}"]
    words += [str(event.details[name]) for name in ("reason", "feedback") if event.details.get(name)]
    rating = event.details.get("rating")
    words += [f"rating {rating}"] if rating is not None else []
    return (
        identifier(view, event.message), " ", Span(event.author, "agent"), " ", short_time(view, event.time), " ",
        ", ".join(words),
    )  # fmt: skip


def _tested_row(value: ValueChange) -> tuple[Cell, ...]:
    texts = (show_value(each) for each in (value.before, value.current, value.after))
    return value.field, *texts, "yes" if value.conflict else "no"


def _confidence(proposal: Proposal) -> str:
    return "" if proposal.confidence is None else confidence(proposal.confidence)


def _row(row: ProposalRow, view: View) -> tuple[Cell, ...]:
    each = row.proposal
    created, changes = short_time(view, each.time), "; ".join(map(describe_change, each.changes))
    names = ",".join(each.fields)
    return each.id, each.entity, names, each.agent, each.state, _confidence(each), created, row.branch, changes


def _terminal_row(row: ProposalRow, view: View) -> tuple[Cell, ...]:
    each = row.proposal
    changes = "; ".join(map(describe_change, each.changes))
    return (
        identifier(view, each.id), each.entity, changes, each.agent, _state(each), _confidence(each),
        short_time(view, each.time),
    )  # fmt: skip
