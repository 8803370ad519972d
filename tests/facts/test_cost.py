"""A cycle costs as much as is dirty, whatever exists: counted in what is read, not in time (see tests.benchmarks)."""

from __future__ import annotations

import pytest

from scopes import clock
from scopes.conversation.new_rename_delete import new
from scopes.facts import store as fact_store
from scopes.facts.context import FactContext
from scopes.facts.cycle import Acceptance, Effects, FactAgent
from scopes.facts.run import RunLimits, Runner
from scopes.facts.store import FactChanges, FactStore
from scopes.facts.validation import promote
from scopes.ids import ConversationId
from scopes.store.transactions import exclusive_write
from tests.facts.statements import proposed
from tests.support.random_ids import hashed_counter
from tests.support.store import make_store

CONV = ConversationId("conv-001")
FACTS_PER_KEY = 5


@pytest.fixture
def count_reads(tmp_path, monkeypatch):
    """Return how many blobs and directories of facts a cycle reads, given how many keys exist and are dirty."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    reads = []
    for name in ("read_blob", "read_tree"):
        original = getattr(fact_store, name)
        monkeypatch.setattr(
            fact_store, name, lambda *given, original=original, name=name: (reads.append(name), original(*given))[1]
        )

    def measure(keys, dirty):
        repository, names = filled(tmp_path / f"{keys}-{dirty}.git", keys)
        agents = [FactAgent(number, name, (name,)) for number, name in enumerate(names, 1)]
        limits = RunLimits(cycles=1, acceptance=Acceptance(max_facts=10**9))
        asked = []

        def ask(eligible, context):
            asked.extend(each.number for each in eligible)
            return {each.number: answer(each, context) for each in eligible}

        runner = Runner(repository, CONV, agents, ask, limits)
        runner.context.dirty = frozenset(names[:dirty])
        reads.clear()
        (cycle,) = runner.walk_cycles()
        assert asked == list(range(1, dirty + 1))
        assert len(cycle.dirty) == dirty
        return len(reads)

    return measure


def answer(agent, context):
    """Read all facts of the key of an agent, and add one."""
    (key,) = agent.dependencies
    assert len(list(context.walk([key]))) == FACTS_PER_KEY
    return Effects(facts=(proposed("new", key, id="new"),))


def filled(path, keys):
    """Return a store whose conversation has facts in many keys, and the keys."""
    repository = make_store(path)
    new(repository)
    names = [f"Key{number:04}" for number in range(keys)]
    with exclusive_write(repository):
        store = FactStore(repository, CONV)
        changes = FactChanges(store, "fill")
        context = FactContext(more_keys=frozenset(names), cycles=1)
        for name in names:
            changes.add_key(name)
            for number in range(FACTS_PER_KEY):
                fact = promote(proposed(f"fact {number}", name, id=f"f{number}"), context)
                context.add(fact)
                changes.add(store.fact_change(fact))
        changes.add(store.context_change(context))
        changes.commit("fill")
    return repository, names


def test_what_a_cycle_reads_does_not_depend_on_what_exists(count_reads):
    """The facts and agents of 20 times as many keys are not read."""
    assert count_reads(keys=200, dirty=3) == count_reads(keys=10, dirty=3)


def test_what_a_cycle_reads_is_linear_in_what_is_dirty(count_reads):
    three, six, twelve = (count_reads(keys=40, dirty=number) for number in (3, 6, 12))
    assert twelve - six == 2 * (six - three)
    assert six > three
