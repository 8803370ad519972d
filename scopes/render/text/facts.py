"""Render facts: the lists, one fact or proposal, decisions, a run, the log of cycles, and who is eligible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import TYPE_CHECKING

from scopes.render.color import Style
from scopes.render.dispatch import render_text
from scopes.render.text.phrases import (
    UNDO_HINT,
    counted,
    full_time,
    short_time,
    write_field,
    write_hint,
    write_outcome,
)
from scopes.render.view import Cell, Column, Span, View
from scopes.result import confidence, plural

if TYPE_CHECKING:
    from scopes.facts.cycle import Cycle
    from scopes.facts.decide import FactDecided, FactPromoted
    from scopes.facts.fact import Fact, HumanDecision, ProposedFact
    from scopes.facts.list import (
        EligibleAgents,
        FactList,
        FactLog,
        FactRow,
        FactView,
        ProposedFactList,
        ProposedFactView,
        ProposedRow,
        QuestionRow,
    )
    from scopes.facts.propose import FactProposed, KeyAdded
    from scopes.facts.run import FactRun

_COLUMNS = (
    Column("Conversation"), Column("Key"), Column("ID"), Column("Agent"), Column("Confidence"), Column("Taken back by"),
    Column("Content"),
)  # fmt: skip
_TERMINAL_COLUMNS = (
    Column("Conversation", "branch"), Column("Fact", flexible=True), Column("Agent", "agent"),
    Column("Content", flexible=True),
)  # fmt: skip
_PROPOSED_COLUMNS = (
    Column("Conversation"), Column("Type"), Column("Key"), Column("ID"), Column("Agent"), Column("State"),
    Column("Confidence"), Column("Proposed"), Column("Content"),
)  # fmt: skip
_PROPOSED_TERMINAL_COLUMNS = (
    Column("Conversation", "branch"), Column("Waiting", flexible=True), Column("Agent", "agent"), Column("State"),
    Column("Content", flexible=True),
)  # fmt: skip
_CYCLE_COLUMNS = (
    Column("Cycle"), Column("Version"), Column("Agents"), Column("Added"), Column("Failed"), Column("New in"),
)  # fmt: skip
_CYCLE_TERMINAL_COLUMNS = (
    Column("Cycle", align="right"), Column("Version", align="right"), Column("Agents", "agent", flexible=True),
    Column("Added", align="right"), Column("Failed", "bad", flexible=True), Column("New in"),
)  # fmt: skip
_ORDER_COLUMNS = (
    Column("Cycle", align="right"), Column("Order", align="right"), Column("Agent", "agent"),
    Column("Effect", align="right"), Column("Fact", "id", flexible=True), Column("Outcome"),
    Column("Reason", flexible=True),
)  # fmt: skip
_ELIGIBLE_COLUMNS = (Column("Number", align="right"), Column("Name", "agent"), Column("Because"))
_ENDINGS: dict[str, tuple[str, Style]] = {
    "converged": ("converged", "good"),
    "failed": ("failed", "bad"),
    "waiting": ("waiting for a person", "warn"),
    "cycles": ("stopped at the limit of cycles", "warn"),
    "facts": ("stopped at the limit of facts", "warn"),
}


@render_text.register
def render_fact_list(result: FactList, view: View) -> None:
    """Write a row for each fact."""
    if not view.terminal:
        view.rows(_COLUMNS, map(_row, result.rows))
    elif not result.rows:
        view.line("There are no facts.")
        write_hint(view, "propose one: scopes facts propose CONV KEY TEXT, or let agents run: scopes facts run CONV")
    else:
        view.rows(_TERMINAL_COLUMNS, map(_terminal_row, result.rows), title="Facts")


@render_text.register
def render_proposed_fact_list(result: ProposedFactList, view: View) -> None:
    """Write a row for each question and each proposal."""
    if not view.terminal:
        rows = [*map(_question_cells, result.questions), *(_proposed_cells(row, view) for row in result.rows)]
        view.rows(_PROPOSED_COLUMNS, rows)
    elif not result.rows and not result.questions:
        view.line("Nothing waits for a decision.")
    else:
        rows = [*map(_question_terminal_row, result.questions), *map(_proposed_terminal_row, result.rows)]
        view.rows(_PROPOSED_TERMINAL_COLUMNS, rows, title="Proposed facts")


@render_text.register
def render_fact_view(result: FactView, view: View) -> None:
    """Write a fact, where it comes from and when; with the option `origin` the cycle that added it."""
    row, fact = result.row, result.row.fact
    _write_statement(fact, view, "fact")
    if row.taken_back_by is not None:
        write_field(view, "Taken back by", f"{fact.key}/{row.taken_back_by}")
    write_field(view, "Validation", fact.validation)
    write_field(view, "Added", full_time(view, result.added), f", version {fact.version}")
    if result.commit is not None:
        write_field(view, "Commit", result.commit)
    _write_decision(result.decision, view)
    if not view.options.origin:
        return
    if result.applied is None:
        write_field(view, "Way", "proposed and promoted, not in a run")
        return
    who = Span(result.applied.name, "agent")
    write_field(
        view, "Way", f"cycle {result.cycle}, effect {result.applied.position} of agent {result.applied.agent}, ", who
    )
    write_field(view, "Ran for", ", ".join(result.because))
    if result.read:
        write_field(view, "New to it", ", ".join(result.read))


@render_text.register
def render_proposed_fact_view(result: ProposedFactView, view: View) -> None:
    """Write a proposal, and why it cannot be promoted."""
    row, proposal = result.row, result.row.proposal
    _write_statement(proposal, view, "proposal")
    write_field(view, "State", _state(row.state))
    if proposal.reason is not None:
        write_field(view, "Reason", proposal.reason)
    write_field(view, "Proposed", full_time(view, proposal.proposed))
    if proposal.expires is not None:
        write_field(view, "Expires", full_time(view, proposal.expires))
    for problem in result.problems:
        write_field(view, "Not valid", problem)
    _write_decision(result.decision, view)
    if view.terminal and row.state in {"pending", "refine"}:
        name = f"{quote(row.conversation)} {quote(f'{proposal.key}/{proposal.id}')}"
        write_hint(view, f"decide: scopes facts accept {name}, or: scopes facts reject {name} --reason TEXT")


@render_text.register
def render_fact_proposed(result: FactProposed, view: View) -> None:
    """Write that a proposal was stored; in a pipe its key and id."""
    name = f"{result.fact.key}/{result.fact.id}"
    there = "is a fact already:" if result.is_fact else "already proposed:"
    verb = "proposed" if result.operation is not None else there
    write_outcome(view, name, f"{verb} ", Span(name, "id"), " for ", Span(result.conversation, "branch"))
    if not view.terminal and result.operation is None:
        view.aside(f"{verb.removesuffix(':')}, so nothing was stored: {name}")
    if view.terminal and result.operation is not None:
        write_hint(view, UNDO_HINT)


@render_text.register
def render_key_added(result: KeyAdded, view: View) -> None:
    """Write that a key was added; in a pipe the key."""
    verb = "added the context key" if result.operation is not None else "the context key exists already:"
    write_outcome(view, result.key, f"{verb} {result.key}")
    if not view.terminal and result.operation is None:
        view.aside(f"{verb} {result.key}")


@render_text.register
def render_fact_promoted(result: FactPromoted, view: View) -> None:
    """Write that a proposal is a fact now; in a pipe its key and id."""
    name = f"{result.fact.key}/{result.fact.id}"
    verb = "promoted" if result.decision is None else "accepted"
    write_outcome(view, name, f"{verb} ", Span(name, "id"), f": it is a fact of {result.conversation}")
    if view.terminal:
        write_hint(view, UNDO_HINT)


@render_text.register
def render_fact_decided(result: FactDecided, view: View) -> None:
    """Write what was decided; in a pipe the subject."""
    decision = result.decision
    write_outcome(view, decision.subject, f"{decision.decision}: ", Span(decision.subject, "id"))
    if view.terminal:
        if result.proposal is None:
            write_hint(view, f"let agents read it: scopes facts run {quote(result.conversation)}")
        write_hint(view, UNDO_HINT)


@render_text.register
def render_fact_run(result: FactRun, view: View) -> None:
    """Write a row for each cycle and why the run ended."""
    if result.cycles or not view.terminal:
        _write_cycles(result.cycles, view)
    text, style = _ENDINGS.get(result.ending, (result.ending, "warn"))
    parts = f": {counted(len(result.cycles), 'cycle')}, {counted(result.added, 'new fact')}, version {result.version}"
    verb = "waits" if result.waiting == 1 else "wait"
    what = f"{result.waiting} {plural(result.waiting, 'decision')} {verb}"
    decide = f"{what}: scopes facts list {quote(result.conversation)} --proposed"
    if not view.terminal:
        view.aside(text + parts)
        if result.waiting:
            view.aside(decide)
        return
    for cycle in result.cycles:
        _write_problems(cycle, view, traces=False)
    view.sentence(Span(text, style), parts)
    if result.waiting:
        write_hint(view, decide)
    if result.operations:
        write_hint(view, UNDO_HINT)


@render_text.register
def render_fact_log(result: FactLog, view: View) -> None:
    """Write a row for each cycle; with the option `effects` one for each effect, in the order applied (S2-23)."""
    if view.terminal and not result.cycles:
        view.line(f"No cycle has run for {result.conversation}.")
    elif view.options.effects:
        rows = (row for cycle in result.cycles for row in _order_rows(cycle))
        view.rows(_ORDER_COLUMNS, rows, title="Effects, by number of the agent, then as it wrote them")
    else:
        _write_cycles(result.cycles, view)
    if view.terminal and not view.options.effects:
        _write_what_agents_wrote(result, view)


def _write_cycles(cycles: Sequence[Cycle], view: View) -> None:
    """Write a row for each cycle; on a terminal why agents failed is below the table."""
    if view.terminal:
        view.rows(_CYCLE_TERMINAL_COLUMNS, map(_cycle_terminal_row, cycles), title="Cycles")
    else:
        view.rows(_CYCLE_COLUMNS, map(_cycle_row, cycles), title="Cycles")


def _write_problems(cycle: Cycle, view: View, *, traces: bool) -> None:
    """Write why agents failed in a cycle, and with `traces` their traces."""
    if any(ran.problem is not None or (traces and ran.traces) for ran in cycle.ran):
        view.line(f"Cycle {cycle.number}:")
    for ran in cycle.ran:
        who = Span(ran.name, "agent")
        if ran.problem is not None:
            view.hanging(who, " ", Span(ran.problem, "bad"), indent=2, hang=2)
        for trace in ran.traces if traces else ():
            view.hanging(who, f": {trace}", indent=2, hang=2)


def _write_what_agents_wrote(result: FactLog, view: View) -> None:
    """Write the problems and traces of each cycle, and the decisions of people."""
    for cycle in result.cycles:
        _write_problems(cycle, view, traces=True)
    if result.decisions:
        view.line("Decisions:")
    for decision in result.decisions:
        reason = f": {decision.rationale}" if decision.rationale else ""
        who, when = Span(decision.actor, "human"), short_time(view, decision.timestamp)
        view.hanging(when, " ", who, f" {decision.decision} {decision.subject}{reason}", indent=2, hang=2)


@render_text.register
def render_eligible_agents(result: EligibleAgents, view: View) -> None:
    """Write a row for each agent that the next cycle would run."""
    if view.terminal and not result.rows:
        view.line("No agent would run: no key that one depends on has new facts.")
        return
    view.rows(
        _ELIGIBLE_COLUMNS,
        ((str(row.agent.number), row.agent.name, ", ".join(row.because)) for row in result.rows),
        title="Eligible agents",
    )


def _write_statement(fact: Fact | ProposedFact, view: View, what: str) -> None:
    view.line(f"{what} ", Span(f"{fact.key}/{fact.id}", "id"))
    view.body(fact.content, indent=4)
    source = fact.provenance
    by = f", agent {source.number}" if source.number is not None else ""
    write_field(view, "From", Span(source.agent, "agent"), by)
    if source.model is not None:
        write_field(view, "Model", source.model + (f", prompt {source.prompt_hash}" if source.prompt_hash else ""))
    if source.sources:
        write_field(view, "Sources", ", ".join(each[:12] for each in source.sources))
    write_field(view, "Confidence", confidence(fact.confidence))
    if fact.invalidates is not None:
        write_field(view, "Takes back", f"{fact.key}/{fact.invalidates}")


def _write_decision(decision: HumanDecision | None, view: View) -> None:
    if decision is not None:
        reason = f": {decision.rationale}" if decision.rationale else ""
        who = Span(decision.actor, "agent")
        write_field(
            view, "Decision", f"{decision.decision} by ", who, ", ", short_time(view, decision.timestamp), reason
        )


def _state(state: str) -> Span:
    return Span(state, "warn" if state in {"pending", "refine"} else "dim")


def _row(row: FactRow) -> tuple[Cell, ...]:
    fact = row.fact
    return (
        row.conversation, fact.key, fact.id, fact.provenance.agent, f"{fact.confidence:g}", row.taken_back_by or "",
        fact.content,
    )  # fmt: skip


def _terminal_row(row: FactRow) -> tuple[Cell, ...]:
    fact = row.fact
    style: Style = "dim" if row.taken_back_by is not None else ""
    return row.conversation, Span(f"{fact.key}/{fact.id}", "id"), fact.provenance.agent, Span(fact.content, style)


def _proposed_cells(row: ProposedRow, view: View) -> tuple[Cell, ...]:
    fact = row.proposal
    return (
        row.conversation, "proposal", fact.key, fact.id, fact.provenance.agent, row.state, f"{fact.confidence:g}",
        full_time(view, fact.proposed), fact.content,
    )  # fmt: skip


def _question_cells(row: QuestionRow) -> tuple[Cell, ...]:
    question = row.question
    return row.conversation, "question", question.key, question.id, question.agent, "open", "", "", question.text


def _proposed_terminal_row(row: ProposedRow) -> tuple[Cell, ...]:
    fact = row.proposal
    name = Span(f"{fact.key}/{fact.id}", "id")
    return row.conversation, name, fact.provenance.agent, _state(row.state), fact.content


def _question_terminal_row(row: QuestionRow) -> tuple[Cell, ...]:
    question = row.question
    return row.conversation, Span(question.id, "id"), question.agent, Span("question", "warn"), question.text


def _order_rows(cycle: Cycle) -> Iterator[tuple[Cell, ...]]:
    for number, each in enumerate(cycle.applied, 1):
        yield (
            str(cycle.number), str(number), f"{each.agent} {each.name}", str(each.position), f"{each.key}/{each.id}",
            each.outcome, each.reason,
        )  # fmt: skip


def _cycle_terminal_row(cycle: Cycle) -> tuple[Cell, ...]:
    number, version, names, added, _, keys = _cycle_row(cycle)
    return number, version, names, added, ", ".join(each.name for each in cycle.ran if each.problem is not None), keys


def _cycle_row(cycle: Cycle) -> tuple[Cell, ...]:
    added = sum(each.outcome == "added" for each in cycle.applied)
    failed = ", ".join(f"{each.name} {each.problem}" for each in cycle.ran if each.problem is not None)
    names = ", ".join(each.name for each in cycle.ran)
    return str(cycle.number), str(cycle.version), names, str(added), failed, ", ".join(sorted(cycle.dirty))
