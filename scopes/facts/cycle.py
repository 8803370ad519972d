"""One cycle of a run: who runs, and how what the agents return becomes facts, whatever the order of arrival."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from scopes.facts.context import FactContext
from scopes.facts.fact import ProposedFact, Question
from scopes.facts.validation import ValidationError, is_expired, is_same, promote
from scopes.model.canonical_json import without_none
from scopes.result import Column

Outcome: TypeAlias = Literal["added", "known", "conflict", "invalid", "rejected", "proposed", "over limit"]


_MAX_NAME_CHARACTERS = 200  # in the record of a cycle; only an invalid fact has a longer key or id


class FactAgent(NamedTuple):
    """An agent that takes part in a run: its number decides when its effects are applied (S2-2)."""

    number: int
    name: str
    dependencies: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """What an agent returns in a cycle, in the order of emission.

    Attributes:
        facts: What it proposes.
        questions: What a person is to decide.
        traces: Lines for the log.
        problem: Why it contributes nothing: it failed, took too long, or wrote nothing that can be read (S2-19).
    """

    facts: tuple[ProposedFact, ...] = ()
    questions: tuple[Question, ...] = ()
    traces: tuple[str, ...] = ()
    problem: str | None = None


class Applied(NamedTuple):
    """What became of one proposed fact: `position` is its place among the effects of its agent, from 1."""

    agent: int
    name: str
    position: int
    key: str
    id: str
    outcome: Outcome
    reason: str = ""


class Ran(NamedTuple):
    """An agent that ran in a cycle: the keys for which it was eligible, and why it contributed nothing if it failed."""

    agent: int
    name: str
    because: tuple[str, ...]
    problem: str | None = None
    traces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """What happened in a cycle: who ran, and every effect in the order in which it was applied.

    Attributes:
        number: From 1, over all runs of the conversation.
        version: The version of the context after it.
        dirty: The keys with new facts: empty if the run has converged (S2-7, S2-8).
        proposals: Facts that wait for a decision.
        questions: Questions that were asked in it.
        is_full: The limit of facts was reached.
    """

    number: int
    version: int
    ran: tuple[Ran, ...]
    applied: tuple[Applied, ...]
    dirty: frozenset[str]
    proposals: tuple[ProposedFact, ...] = ()
    questions: tuple[Question, ...] = ()
    is_full: bool = False

    def document(self) -> dict[str, Any]:
        """Return the cycle as a JSON object, as it is stored and printed."""
        lists = [{"because": list(each.because), "traces": list(each.traces) or None} for each in self.ran]
        ran = [each._asdict() | more for each, more in zip(self.ran, lists, strict=True)]
        applied = [each._asdict() | {"reason": each.reason or None} for each in self.applied]
        return {
            "cycle": self.number,
            "version": self.version,
            "dirty": sorted(self.dirty),
            "ran": [without_none(**each) for each in ran],
            "applied": [without_none(**each) for each in applied],
            "is_full": self.is_full,
        }

    @property
    def agents(self) -> str:
        """The names of those who ran."""
        return ", ".join(each.name for each in self.ran)

    @property
    def added(self) -> int:
        """How many facts it added."""
        return sum(each.outcome == "added" for each in self.applied)

    @property
    def failed(self) -> str:
        """Who failed, and why."""
        return ", ".join(f"{each.name} {each.problem}" for each in self.ran if each.problem is not None)

    @property
    def new_in(self) -> str:
        """The keys with new facts."""
        return ", ".join(sorted(self.dirty))


CYCLE_COLUMNS: tuple[Column, ...] = (
    Column("cycle"), Column("version"), Column("agents"), Column("added"), Column("failed", form="prose"),
    Column("new_in"),
)  # fmt: skip


class Acceptance(NamedTuple):
    """Which valid proposals of a run become facts without a person.

    review: none of them
    min_confidence: only those with this confidence or more
    max_facts: no more than this number of facts in the context (S2-18)
    """

    review: bool = False
    min_confidence: float = 0.0
    max_facts: int = 10_000


@dataclass(slots=True)
class DependencyIndex:
    """Which agents depend on which keys (S2-4); finding those of some keys costs as much as there are."""

    _numbers: dict[str, list[int]] = field(default_factory=dict)
    _agents: dict[int, FactAgent] = field(default_factory=dict)

    @classmethod
    def of(cls, agents: Iterable[FactAgent]) -> DependencyIndex:
        """Return the index of some agents."""
        index = cls()
        for agent in agents:
            index.register(agent)
        return index

    def register(self, agent: FactAgent) -> None:
        """Add an agent, or replace the one of its number."""
        self.unregister(agent.number)
        self._agents[agent.number] = agent
        for key in {each.casefold() for each in agent.dependencies}:
            self._numbers.setdefault(key, []).append(agent.number)

    def unregister(self, number: int) -> None:
        """Remove an agent, if it is there."""
        agent = self._agents.pop(number, None)
        for key in {each.casefold() for each in agent.dependencies} if agent is not None else ():
            self._numbers[key].remove(number)

    def eligible(self, dirty: Iterable[str], also: Iterable[int] = ()) -> list[FactAgent]:
        """Return the agents that depend on one of some keys, and some others by number, each once, by number (S2-5)."""
        numbers = {number for key in dirty for number in self._numbers.get(key.casefold(), ())}
        return [self._agents[number] for number in sorted(numbers.union(also))]


def find_reasons(agent: FactAgent, dirty: Iterable[str]) -> tuple[str, ...]:
    """Return the dirty keys on which an agent depends, sorted."""
    wanted = {each.casefold() for each in agent.dependencies}
    return tuple(sorted(key for key in dirty if key.casefold() in wanted))


def reasons_of(agent: FactAgent, context: FactContext) -> tuple[str, ...]:
    """Return the keys for which an agent runs in the next cycle: dirty ones, and those that it has not seen yet."""
    return find_reasons(agent, context.dirty | context.retried.get(agent.number, frozenset()))


def find_unseen(agents: Iterable[FactAgent], context: FactContext) -> dict[int, frozenset[str]]:
    """Return the keys on which agents depend and that they have not seen yet, by number."""
    found = ((agent.number, find_reasons(agent, context.unseen.get(agent.number, ()))) for agent in agents)
    return {number: frozenset(keys) for number, keys in found if keys}


def update_unseen(
    context: FactContext, cycle: Cycle, asked: Mapping[int, Iterable[str]], missed: Mapping[int, Iterable[str]]
) -> None:
    """Record which keys agents have not seen yet after a cycle.

    An agent that failed, or whose facts were over the limit, has not seen the keys for which it was asked.

    asked: the keys for which each agent ran, by its number
    missed: the keys for which agents would have run that are away or have no command
    """
    failed = {each.agent for each in cycle.ran if each.problem is not None}
    failed |= {each.agent for each in cycle.applied if each.outcome == "over limit"}
    for number, keys in (*asked.items(), *missed.items()):
        before = context.unseen.pop(number, frozenset())
        is_missed = number in failed or number not in asked
        after = before.union(keys) if is_missed else before.difference(keys)
        if after:
            context.unseen[number] = after


def merge_cycle(
    context: FactContext,
    agents: Sequence[FactAgent],
    effects: Mapping[int, Effects],
    acceptance: Acceptance,
    asked: Mapping[int, tuple[str, ...]] | None = None,
) -> Cycle:
    """Apply the effects of a cycle to a context: by the number of the agent, then in the order of emission (S2-2).

    The context has the new facts, questions and dirty keys then, and one version more if there are new facts (S2-13).
    `asked` has the keys for which each agent ran, by its number; without it those of the context.
    """
    reasons = {agent.number: reasons_of(agent, context) for agent in agents} if asked is None else asked
    ran = tuple(_ran(agent, effects.get(agent.number, Effects()), reasons[agent.number]) for agent in agents)
    merge = _Merge(context, acceptance)
    for agent in sorted(agents):
        merge.apply(agent, effects.get(agent.number, Effects()))
    context.cycles += 1
    context.version += bool(merge.dirty)
    context.dirty = frozenset(merge.dirty)
    return Cycle(
        number=context.cycles,
        version=context.version,
        ran=ran,
        applied=tuple(merge.applied),
        dirty=context.dirty,
        proposals=tuple(merge.proposals.values()),
        questions=tuple(merge.questions),
        is_full=any(each.outcome == "over limit" for each in merge.applied),
    )


def _ran(agent: FactAgent, effects: Effects, because: tuple[str, ...]) -> Ran:
    return Ran(agent.number, agent.name, because, effects.problem, effects.traces)


class _Merge:
    """The state of `merge_cycle`."""

    def __init__(self, context: FactContext, acceptance: Acceptance) -> None:
        self.context = context
        self.acceptance = acceptance
        self.dirty: set[str] = set()
        self.applied: list[Applied] = []
        self.proposals: dict[tuple[str, str], ProposedFact] = {}
        self.questions: list[Question] = []

    def apply(self, agent: FactAgent, effects: Effects) -> None:
        """Apply what one agent returned; nothing if it failed."""
        if effects.problem is not None:
            return
        for position, fact in enumerate(effects.facts, 1):
            outcome, reason = self._apply_fact(fact)
            key, fact_id = fact.key[:_MAX_NAME_CHARACTERS], fact.id[:_MAX_NAME_CHARACTERS]
            self.applied.append(Applied(agent.number, agent.name, position, key, fact_id, outcome, reason))
        for question in effects.questions:
            if question.id not in self.context.questions and question.id not in self.context.decided:
                self.context.questions[question.id] = question
                self.questions.append(question)

    def _apply_fact(self, fact: ProposedFact) -> tuple[Outcome, str]:
        refusal = self._find_refusal(fact)
        if refusal is not None:
            return refusal
        try:
            promoted = promote(fact, self.context)
        except ValidationError as error:
            return "invalid", "; ".join(error.reasons)
        if self.acceptance.review or fact.confidence < self.acceptance.min_confidence:
            return self._propose(fact)
        if self.context.count >= self.acceptance.max_facts:
            return "over limit", f"there are {self.acceptance.max_facts:,} facts"
        self.context.add(promoted)
        self.dirty.add(fact.key)
        return "added", ""

    def _find_refusal(self, fact: ProposedFact) -> tuple[Outcome, str] | None:
        """Return the outcome of what was said before; None if nothing of this id was."""
        taken = self.context.find(fact.key, fact.id)
        if taken is not None:
            same = is_same(fact, taken)
            return ("known", "") if same else ("conflict", f"agent {taken.provenance.agent} said otherwise")
        earlier = self.context.stored.find_proposal(fact.key, fact.id)
        if earlier is None and self.context.stored.holds_proposal(fact.key, fact.id):
            return "conflict", "a stored proposal of this id cannot be read, see: scopes verify"
        if earlier is not None and earlier.state == "rejected" and earlier.content == fact.content:
            return "rejected", earlier.reason or ""
        return None

    def _propose(self, fact: ProposedFact) -> tuple[Outcome, str]:
        stored = self.context.stored.find_proposal(fact.key, fact.id)
        waiting = stored if stored is not None and stored.state == "pending" and not is_expired(stored) else None
        earlier = waiting or self.proposals.setdefault((fact.key, fact.id), fact)
        if earlier.content != fact.content:
            return "conflict", f"agent {earlier.provenance.agent} proposed otherwise"
        if waiting is not None:
            return "known", "it waits for a decision"
        return "proposed", "a person decides" if self.acceptance.review else "the confidence is below the limit"
