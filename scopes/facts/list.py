"""`facts list`, `show`, `explain`, `log` and `eligible`: what is accepted, what waits, and how it came about."""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from shlex import quote
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from scopes.clock import format_seconds
from scopes.errors import Ambiguous, NotFound
from scopes.facts.context import FactContext
from scopes.facts.cycle import CYCLE_COLUMNS, Applied, Cycle, DependencyIndex, FactAgent, find_unseen, reasons_of
from scopes.facts.decide import answer_hint, find_question, find_refinement, match_names, match_whole, require_name
from scopes.facts.fact import Fact, HumanDecision, ProposedFact, Question
from scopes.facts.propose import require_key
from scopes.facts.run import list_agents
from scopes.facts.run_notes import note_unknown_keys
from scopes.facts.store import FactStore
from scopes.facts.validation import find_problems, is_expired, is_same
from scopes.history.names import conversation_ids, resolve_conversation
from scopes.ids import ConversationId, Oid
from scopes.result import HIDDEN, INLINE, Column, Note, Result, confidence, plural, shown, spread
from scopes.store.objects import read_commit
from scopes.store.refs import FACTS
from scopes.store.repository import Repository

ProposalState: TypeAlias = Literal["pending", "refine", "rejected", "expired"]


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact of a conversation; `taken_back_by` is the id of the fact that takes it back."""

    conversation: ConversationId
    fact: Fact = field(metadata=INLINE)
    taken_back_by: str | None

    @property
    def name(self) -> str:
        """The key and the id."""
        return f"{self.fact.key}/{self.fact.id}"


@dataclass(frozen=True, slots=True)
class ProposedRow:
    """A proposal of a conversation.

    A pending one that was not validated in time is expired (S2-20); `refine` is one that a person asked to refine.
    """

    conversation: ConversationId
    proposal: ProposedFact = field(metadata=INLINE)
    state: ProposalState
    type: ClassVar[str] = "proposal"

    @property
    def name(self) -> str:
        """The key and the id."""
        return f"{self.proposal.key}/{self.proposal.id}"

    @property
    def agent(self) -> str:
        """Who proposes it."""
        return self.proposal.provenance.agent


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A question that waits for a person."""

    conversation: ConversationId
    question: Question = field(metadata=INLINE)
    type: ClassVar[str] = "question"
    state: ClassVar[str] = "open"
    proposed: ClassVar[str] = ""

    @property
    def name(self) -> str:
        """The id."""
        return self.question.id

    @property
    def content(self) -> str:
        """What is asked."""
        return self.question.text


@dataclass(frozen=True, slots=True, kw_only=True)
class FactList(Result):
    """Facts by conversation, key and id."""

    rows_in = "facts"
    columns = (
        Column("conversation"),
        Column("key", on="pipe"),
        Column("id", "ID", on="pipe"),
        Column("name", "Fact", on="terminal"),
        Column("provenance.agent"),
        Column("confidence", on="pipe"),
        Column("taken_back_by"),
        Column("content"),
    )
    empty = "There are no facts."

    facts: tuple[FactRow, ...]

    @property
    def next_step(self) -> str:
        """How to get facts, if there are none."""
        propose = "propose one: scopes facts propose CONV KEY TEXT, or let agents run: scopes facts run CONV"
        return "" if self.facts else propose


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedFactList(Result):
    """Proposals by conversation, key and id, and the questions that wait for a person."""

    rows_in = "waiting"
    columns = (
        Column("conversation"),
        Column("type"),
        Column("key", on="pipe"),
        Column("id", "ID", on="pipe"),
        Column("name", on="terminal"),
        Column("agent"),
        Column("state", form="state"),
        Column("confidence", on="pipe"),
        Column("proposed", form="time", on="pipe"),
        Column("content"),
    )
    empty = "Nothing waits for a decision."

    questions: tuple[QuestionRow, ...]
    proposals: tuple[ProposedRow, ...]

    @property
    def waiting(self) -> tuple[QuestionRow | ProposedRow, ...]:
        """The questions, then the proposals."""
        return (*self.questions, *self.proposals)


_STATEMENT = (
    Column("provenance.agent", "From"),
    Column("provenance.number", "Agent number"),
    Column("provenance.model"),
    Column("provenance.prompt_hash", "Prompt"),
    Column("invalidates", "Takes back"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactView(Result):
    """One fact, with the time at which it was added and how.

    Attributes:
        commit: The commit of refs/scopes/facts that added it; None if it is damaged.
        cycle, applied: The cycle that added it, and where in it; None if no run did.
        because: The dirty keys for which its agent ran in that cycle.
        read: The facts of these keys that the cycle before added, as `KEY/ID`.
        decision: What a person decided about the proposal.
    """

    kind = "fact"
    columns = (
        Column("row.name", "Fact"),
        Column("certainty", "Confidence"),
        *_STATEMENT,
        Column("taken_back_by"),
        Column("validation"),
        Column("added", form="time"),
        Column("version"),
        Column("commit"),
        Column("decision.story", "Decision"),
        Column("way", option="origin"),
        Column("because", "Ran for", option="origin"),
        Column("read", "New to it", option="origin"),
        Column("content", form="body"),
        Column("provenance.sources", form="lines"),
    )

    row: FactRow = field(metadata=INLINE)
    commit: Oid | None
    added: str | None
    cycle: int | None
    applied: Applied | None = field(metadata=HIDDEN)
    because: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    decision: HumanDecision | None

    @property
    @shown
    def position(self) -> int | None:
        """Its place among the effects of its agent."""
        return None if self.applied is None else self.applied.position

    @property
    def certainty(self) -> str:
        """The confidence as a word and a number."""
        return confidence(self.row.fact.confidence)

    @property
    def way(self) -> str:
        """How it was added."""
        if self.applied is None:
            return "proposed and promoted, not in a run"
        return f"cycle {self.cycle}, effect {self.applied.position} of agent {self.applied.agent}, {self.applied.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedFactView(Result):
    """One proposal, and why it cannot be promoted; empty if it can."""

    kind = "proposed-fact"
    columns = (
        Column("row.name", "Proposal"),
        Column("state", form="state"),
        Column("certainty", "Confidence"),
        *_STATEMENT,
        Column("reason"),
        Column("proposed", form="time"),
        Column("expires", form="time"),
        Column("decision.story", "Decision"),
        Column("content", form="body"),
        Column("provenance.sources", form="lines"),
        Column("problems", "Not valid", "lines"),
    )

    row: ProposedRow = field(metadata=INLINE)
    problems: tuple[str, ...]
    decision: HumanDecision | None

    @property
    def certainty(self) -> str:
        """The confidence as a word and a number."""
        return confidence(self.row.proposal.confidence)

    @property
    def next_step(self) -> list[str]:
        """How to decide about one that waits."""
        name = f"{quote(self.row.conversation)} {quote(self.row.name)}"
        decide = [f"accept it: scopes facts accept {name}", f"reject it: scopes facts reject {name} --reason TEXT"]
        return decide if self.row.state in {"pending", "refine"} else []


@dataclass(frozen=True, slots=True, kw_only=True)
class FactLog(Result):
    """The cycles of a conversation, newest first, and the decisions of people, in the order of time."""

    kind = "fact-log"
    rows_in = "cycles"
    columns = CYCLE_COLUMNS
    empty = "No cycle has run."

    conversation: ConversationId
    decisions: tuple[HumanDecision, ...]
    cycles: tuple[Cycle, ...]

    @property
    def sentence(self) -> list[str]:
        """The traces of agents, and what people decided."""
        ran = [(f"  cycle {cycle.number}, {each.name}", each.traces) for cycle in self.cycles for each in cycle.ran]
        lines = [f"{who}: {trace}" for who, traces in ran for trace in traces]
        if self.decisions:
            lines += ["Decisions:", *(f"  {each.subject}: {each.story}" for each in self.decisions)]
        return lines


class Effect(NamedTuple):
    """What became of an effect; `order` is its place among those of its cycle, from 1."""

    cycle: int
    order: int
    applied: Applied

    @property
    def agent(self) -> str:
        """The number and the name of the agent."""
        return f"{self.applied.agent} {self.applied.name}"

    @property
    def fact(self) -> str:
        """The key and the id of the fact."""
        return f"{self.applied.key}/{self.applied.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactOrder(FactLog):
    """The same with a row for each effect: by number of the agent, then as it wrote them (S2-23)."""

    rows_in = "effects"
    columns = (
        Column("cycle"),
        Column("order"),
        Column("agent"),
        Column("applied.position", "Effect"),
        Column("fact"),
        Column("applied.outcome"),
        Column("applied.reason"),
    )

    @property
    def effects(self) -> list[Effect]:
        """Every effect, in the order in which it was applied."""
        return [
            Effect(cycle.number, number, each) for cycle in self.cycles for number, each in enumerate(cycle.applied, 1)
        ]

    @property
    def sentence(self) -> list[str]:
        """The rows say it all."""
        return []


@dataclass(frozen=True, slots=True)
class EligibleRow:
    """An agent, and the dirty keys for which it would run."""

    agent: FactAgent = field(metadata=spread(number="number", name="name"))
    because: tuple[str, ...]

    @property
    def reasons(self) -> str:
        """The keys as one text."""
        return ", ".join(self.because)


@dataclass(frozen=True, slots=True, kw_only=True)
class EligibleAgents(Result):
    """The agents that the next cycle would run, by number (S2-5), and the dirty keys."""

    rows_in = "agents"
    columns = (Column("number"), Column("name"), Column("reasons", "Because"))
    empty = "No agent would run: no key that one depends on has new facts."

    conversation: ConversationId
    dirty: tuple[str, ...]
    agents: tuple[EligibleRow, ...]


def list_facts(
    repository: Repository, conversation: str | None = None, *, key: str | None = None, everything: bool = False
) -> FactList:
    """List facts of one conversation or of all; those that were taken back only with `everything`.

    Raises:
        NotFound, Ambiguous: there is no such conversation, or several match.
        Invalid: the key is unknown.
    """
    rows, stores = [], _stores(repository, conversation)
    for store in stores:
        context = store.read_context()
        keys = None if key is None else [require_key(context, key)]
        facts = list(context.walk(keys))
        later = {(fact.key, fact.invalidates): fact.id for fact in facts if fact.invalidates is not None}
        found = (FactRow(store.conversation, fact, later.get((fact.key, fact.id))) for fact in facts)
        rows += [row for row in found if everything or row.taken_back_by is None]
    waiting = () if rows else _note_waiting(stores, conversation)
    return FactList(facts=tuple(rows), notes=(*waiting, *_note_unreadable(stores)))


def list_proposed(
    repository: Repository, conversation: str | None = None, *, key: str | None = None, everything: bool = False
) -> ProposedFactList:
    """List proposals and questions that wait for a decision; rejected and expired ones only with `everything`.

    Raises:
        NotFound, Ambiguous: there is no such conversation, or several match.
        Invalid: the key is unknown.
    """
    rows, questions, stores = [], [], _stores(repository, conversation)
    for store in stores:
        context = store.read_context()
        wanted = None if key is None else require_key(context, key)
        found = (_proposed_row(store, each) for each in store.walk_proposals() if wanted in {None, each.key})
        rows += [row for row in found if everything or row.state in {"pending", "refine"}]
        questions += [
            QuestionRow(store.conversation, each) for each in context.questions.values() if wanted in {None, each.key}
        ]
    return ProposedFactList(proposals=tuple(rows), questions=tuple(questions), notes=_note_unreadable(stores))


def show_fact(repository: Repository, conversation: str, name: str) -> FactView | ProposedFactView:
    """Show a fact or a proposal by its id, a unique prefix of it, or `KEY/ID`; a fact before a proposal.

    Raises:
        NotFound, Ambiguous: there is no such conversation, fact or proposal, or several match.
    """
    store = FactStore(repository, resolve_conversation(repository, conversation))
    context = store.read_context()
    require_name(name)
    decisions = {each.subject: each for each in store.walk_decisions()}
    facts, proposals = match_names(name, context.walk()), match_names(name, store.walk_proposals())
    is_proposal = match_whole(name, proposals) and not match_whole(name, facts)
    facts, proposals = ([], proposals) if is_proposal or not facts else (facts, [])
    found: list[Fact | ProposedFact] = [*facts, *proposals]
    names = [f"{each.key}/{each.id}" for each in found]
    if not names:
        raise _no_such_fact(store, context, name)
    if len(names) > 1:
        raise Ambiguous(f"{name!a} matches several facts: {', '.join(names[:8])}", hint="name one as KEY/ID")
    decision = decisions.get(names[0])
    if facts:
        return replace(_fact_view(store, context, facts[0], decision), notes=_note_other_text(store, facts[0]))
    problems = tuple(find_problems(proposals[0], context))
    return ProposedFactView(row=_proposed_row(store, proposals[0]), problems=problems, decision=decision)


def log_cycles(
    repository: Repository, conversation: str, *, limit: int | None = None, explain_order: bool = False
) -> FactLog:
    """Return the newest cycles of a conversation, at most `limit`, and all decisions of people.

    With `explain_order` its rows are the effects.

    Raises:
        NotFound, Ambiguous: there is no such conversation, or several match.
    """
    store = FactStore(repository, resolve_conversation(repository, conversation))
    cycles = tuple(islice(store.walk_cycles(), None if limit is None else min(limit, sys.maxsize)))
    decisions = tuple(store.walk_decisions())
    return (FactOrder if explain_order else FactLog)(
        conversation=store.conversation,
        cycles=cycles,
        decisions=decisions,
        notes=_note_unreadable([store]),
    )


def list_eligible(repository: Repository, conversation: str) -> EligibleAgents:
    """Return the agents that the next cycle would run.

    Raises:
        NotFound, Ambiguous: there is no such conversation, or several match.
    """
    store = FactStore(repository, resolve_conversation(repository, conversation))
    context = store.read_context()
    agents, _, notes = list_agents(repository)
    context.retried = find_unseen(agents, context)
    found = DependencyIndex.of(agents).eligible(context.dirty, context.retried)
    rows = tuple(EligibleRow(agent, reasons_of(agent, context)) for agent in found)
    if not agents:
        hint = "scopes agents register NAME --depends-on KEY"
        notes = (*notes, Note("no available agent depends on a key", hint))
    notes = (*notes, *note_unknown_keys(agents, context))
    return EligibleAgents(conversation=store.conversation, agents=rows, dirty=tuple(sorted(context.dirty)), notes=notes)


def _stores(repository: Repository, conversation: str | None) -> list[FactStore]:
    names = conversation_ids(repository) if conversation is None else [resolve_conversation(repository, conversation)]
    return [FactStore(repository, name) for name in names]


def _note_waiting(stores: Iterable[FactStore], conversation: str | None) -> tuple[Note, ...]:
    """Return a note about the proposed facts that wait for a decision; a list of facts does not have them."""
    found = [_proposed_row(store, each) for store in stores for each in store.walk_proposals()]
    count = sum(row.state in {"pending", "refine"} for row in found)
    if not count:
        return ()
    hint = " ".join(filter(None, ("list what waits: scopes facts list", conversation, "--proposed")))
    return (Note(f"no facts yet; {count} proposed {plural(count, 'fact')} waiting for a decision", hint),)


def _note_unreadable(stores: Iterable[FactStore]) -> tuple[Note, ...]:
    """Return a note if something was left out because it cannot be read."""
    found = [f"{ref}:{path}" for store in stores for ref, path in store.unreadable]
    if not found:
        return ()
    text = f"{len(found)} stored {plural(len(found), 'file')} of facts cannot be read: {found[0]}"
    return (Note(text + (", ..." if len(found) > 1 else ""), "see: scopes verify"),)


def _proposed_row(store: FactStore, proposal: ProposedFact) -> ProposedRow:
    state: ProposalState = proposal.state
    if state == "pending" and is_expired(proposal):
        state = "expired"
    elif state == "pending" and find_refinement(store, proposal) is not None:
        state = "refine"
    return ProposedRow(store.conversation, proposal, state)


def _no_such_fact(store: FactStore, context: FactContext, name: str) -> NotFound:
    question = find_question(context, name)
    if question is not None:
        text = f"{question.id} is an open question of {question.agent}, no fact: {question.text}"
        return NotFound(text, hint=answer_hint(store, question))
    where = store.conversation
    command = f"scopes facts list {quote(where)}"
    hint = f"list them: {command}, or what waits for a decision: {command} --proposed"
    return NotFound(f"{where} has no fact {name!a} and no such proposal", hint=hint)


def _note_other_text(store: FactStore, fact: Fact) -> tuple[Note, ...]:
    """Return a note if a proposal of the id of a fact waits: it cannot become one."""
    proposal = store.find_proposal(fact.key, fact.id)
    if proposal is None or proposal.state != "pending" or is_same(proposal, fact):
        return ()
    text = f"a proposal of this id with other text waits, which cannot become a fact: {proposal.content[:80]!r}"
    hint = (
        f"reject it: scopes facts reject {quote(store.conversation)} {quote(fact.key)}/{quote(fact.id)} --reason TEXT"
    )
    return (Note(text, hint),)


def _fact_view(store: FactStore, context: FactContext, fact: Fact, decision: HumanDecision | None) -> FactView:
    later = {(each.key, each.invalidates): each.id for each in context.walk([fact.key])}
    commit, added = _find_commit(store, fact)
    cycle, applied = _find_cycle(store, fact)
    ran = None if cycle is None or applied is None else next(x for x in cycle.ran if x.agent == applied.agent)
    row = FactRow(store.conversation, fact, later.get((fact.key, fact.id)))
    return FactView(
        row=row,
        commit=commit,
        added=added,
        cycle=None if cycle is None else cycle.number,
        applied=applied,
        because=() if ran is None else ran.because,
        read=() if cycle is None or ran is None else _read_new(store, cycle, ran.because),
        decision=decision,
    )


def _find_cycle(store: FactStore, fact: Fact) -> tuple[Cycle, Applied] | tuple[None, None]:
    """Return the cycle that added a fact, and where in it."""
    for cycle in store.walk_cycles():
        for each in cycle.applied:
            if (each.key, each.id, each.outcome) == (fact.key, fact.id, "added"):
                return cycle, each
        if cycle.version < fact.version:
            break
    return None, None


def _read_new(store: FactStore, cycle: Cycle, because: Container[str]) -> tuple[str, ...]:
    """Return the facts, as `KEY/ID`, that the cycle before one added for some keys: what made its agents run."""
    before = next((each for each in store.walk_cycles() if each.number == cycle.number - 1), None)
    applied = () if before is None else before.applied
    return tuple(f"{each.key}/{each.id}" for each in applied if each.outcome == "added" and each.key in because)


def _find_commit(store: FactStore, fact: Fact) -> tuple[Oid | None, str | None]:
    """Return the commit of refs/scopes/facts that added a fact, and its time, by a binary search along the history."""
    history: list[Oid] = []
    commit = store.commits[FACTS]
    while commit is not None:
        history.append(commit)
        parents = read_commit(store.repository, commit).parents
        commit = parents[0] if parents else None
    low, high = 0, len(history) - 1  # history[low] has the fact
    while low < high:
        middle = (low + high + 1) // 2
        if FactStore(store.repository, store.conversation, {FACTS: history[middle]}).find(fact.key, fact.id) is None:
            high = middle - 1
        else:
            low = middle
    return history[low], format_seconds(read_commit(store.repository, history[low]).time)
