"""A cycle of `facts run` against the number of dirty keys and of all facts: it is linear in what is dirty."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from scopes.conversation.new_rename_delete import new
from scopes.facts.context import FactContext
from scopes.facts.cycle import Acceptance, Effects, FactAgent
from scopes.facts.fact import Fact, ProposedFact, Provenance
from scopes.facts.run import RunLimits, Runner
from scopes.facts.store import FactChanges, FactStore
from scopes.ids import ConversationId
from scopes.store.repository import Repository, create_store, open_repository
from scopes.store.transactions import exclusive_write
from tests.benchmarks.timing import Row, Samples
from tests.benchmarks.workspace import Workspace

_CONVERSATION = ConversationId("conv-001")
_FACTS_PER_KEY = 100
_KEYS, _FEW_KEYS = 1_000, 100  # with as many agents
_DIRTY, _FEW_DIRTY = 100, 10


def measure(work: Workspace) -> Iterator[Row]:
    """Yield a cycle with 10 times as many dirty keys, and one with 10 times as many keys and agents."""
    large = _Store(work.new_path("facts"), work.amount(_KEYS))
    small = _Store(work.new_path("facts"), work.amount(_FEW_KEYS))
    repetitions = work.repetitions(5)
    many = Samples(tuple(large.run_cycle(work.amount(_DIRTY)) for _ in range(repetitions)))
    few = Samples(tuple(large.run_cycle(work.amount(_FEW_DIRTY)) for _ in range(repetitions)))
    of_small = Samples(tuple(small.run_cycle(work.amount(_FEW_DIRTY)) for _ in range(repetitions)))
    total = large.keys * _FACTS_PER_KEY
    yield Row(
        operation=f"cycle of facts run, {work.amount(_DIRTY)} of {large.keys:,} keys dirty, {total:,} facts",
        ours=many,
        reference=few,
        against=f"itself with {work.amount(_FEW_DIRTY)} dirty",
        budget=10.0,
    )
    yield Row(
        operation=f"cycle of facts run, {work.amount(_FEW_DIRTY)} dirty, {large.keys:,} agents and {total:,} facts",
        ours=few,
        reference=of_small,
        against=f"itself with {small.keys:,} agents and {small.keys * _FACTS_PER_KEY:,} facts",
        budget=1.5,
    )


class _Store:
    """A store whose one conversation has facts in many keys, with an agent for each."""

    def __init__(self, path: str, keys: int) -> None:
        create_store(path)
        self.keys = keys
        self._names = [f"Key{number:05}" for number in range(keys)]
        self._agents = [FactAgent(number, name, (name,)) for number, name in enumerate(self._names, 1)]
        self._repository: Repository = open_repository(path)
        new(self._repository)
        with exclusive_write(self._repository):
            store = FactStore(self._repository, _CONVERSATION)
            changes = FactChanges(store, "fill")
            context = FactContext(more_keys=frozenset(self._names), cycles=1, version=1)
            for name in self._names:
                changes.add_key(name)
                for fact in _facts_of(name):
                    context.add(fact)
                    changes.add(store.fact_change(fact))
            changes.add(store.context_change(context))
            changes.commit("fill")

    def run_cycle(self, dirty: int) -> float:
        """Return the seconds of a cycle in which the agents of some keys read all of these and add a fact each."""

        def ask(agents: Sequence[FactAgent], context: FactContext) -> Mapping[int, Effects]:
            return {agent.number: _answer(agent, context) for agent in agents}

        limits = RunLimits(cycles=1, acceptance=Acceptance(max_facts=10**9))
        runner = Runner(self._repository, _CONVERSATION, self._agents, ask, limits)
        runner.context.dirty = frozenset(self._names[:dirty])
        started = time.perf_counter()
        assert [len(cycle.dirty) for cycle in runner.walk_cycles()] == [dirty]
        return time.perf_counter() - started


def _facts_of(key: str) -> Iterator[Fact]:
    source = Provenance(agent="planner")
    for number in range(_FACTS_PER_KEY):
        yield Fact(
            key=key, id=f"f{number}", content=f"fact {number} of {key}", confidence=1.0, provenance=source,
            validation="rules", version=1,
        )  # fmt: skip


def _answer(agent: FactAgent, context: FactContext) -> Effects:
    (key,) = agent.dependencies
    read = sum(1 for _ in context.walk([key]))
    content, source = f"{read} facts, {time.time_ns()}", Provenance(agent=agent.name, number=agent.number)
    fact = ProposedFact(
        key=key, id=f"n{time.time_ns()}", content=content, confidence=1.0, provenance=source, proposed=""
    )
    return Effects(facts=(fact,))
