"""Two runs at once on one conversation: both converge, and each reads what the other adds."""

from __future__ import annotations

import pytest

from scopes import clock
from scopes.agents.register import register
from scopes.conversation.new_rename_delete import new
from scopes.facts.cycle import FactAgent
from scopes.facts.decide import decide, promote
from scopes.facts.fact import Question
from scopes.facts.propose import Proposal, propose
from scopes.facts.run import RunLimits, Runner
from scopes.facts.store import FactStore
from scopes.ids import ConversationId
from tests.facts.statements import effects, proposed
from tests.support.random_ids import hashed_counter

CONV = ConversationId("conv-001")
ANN = FactAgent(1, "ann", ("Seeds",))


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def store(repository):
    """A conversation with one fact, and an agent that depends on its key."""
    new(repository)
    register(repository, "ann", dependencies=["Seeds"])
    seed(repository, "slow")
    return repository


def seed(repository, fact_id):
    propose(repository, CONV, Proposal(key="Seeds", content=fact_id, agent="carol", id=fact_id))
    promote(repository, CONV, fact_id)


def answer(agents, context):
    """Return a fact for each fact of Seeds."""
    found = [proposed(f"since {each.id}", "Hypotheses", id=each.id) for each in context.walk(["Seeds"])]
    return {each.number: effects(*found) for each in agents}


def alternate(repository, *, first=answer, other=answer):
    """Run twice at once: while agents of the first run work, the second one stores a cycle."""
    second = Runner(repository, CONV, [ANN], other, RunLimits(cycles=40))
    cycles_of_second = second.walk_cycles()

    def ask(agents, context):
        next(cycles_of_second, None)
        return first(agents, context)

    runner = Runner(repository, CONV, [ANN], ask, RunLimits(cycles=40))
    for _ in runner.walk_cycles():
        pass
    for _ in cycles_of_second:
        pass
    return runner.result(), second.result()


def test_two_runs_at_once_both_converge(store):
    """Each cycle of one, also one that added nothing, let the other run again: both ended at the limit of cycles."""
    results = alternate(store)
    assert [each.ending for each in results] == ["converged", "converged"]
    assert sum(each.added for each in results) == 1
    assert sum(len(each.cycles) for each in results) <= 5
    assert FactStore(store, CONV).read_context().dirty == frozenset()


def test_a_run_reads_what_another_run_adds_for_its_agents(store):
    """The other run adds a fact of Seeds while the agents of the first one work on Seeds."""
    seen = []

    def look(agents, context):
        seen.append([(each.name, sorted(fact.id for fact in context.walk(["Seeds"]))) for each in agents])
        return {}

    def add(agents, _context):
        return {each.number: effects(proposed("more", id="more")) for each in agents}

    first, second = alternate(store, first=look, other=add)
    assert (first.ending, second.ending) == ("converged", "converged")
    assert seen[:2] == [[("ann", ["slow"])], [("ann", ["more", "slow"])]]


def test_a_fact_that_a_person_adds_meanwhile_is_read_though_another_run_has_seen_it(store):
    """The other run ends before: what it has stored says that nothing is dirty."""
    seen = []

    def ask(agents, context):
        if not seen:
            seed(store, "late")
            assert Runner(store, CONV, [ANN], answer, RunLimits()).context.dirty == {"Seeds"}
            for _ in Runner(store, CONV, [ANN], answer, RunLimits()).walk_cycles():
                pass
        seen.append([sorted(fact.id for fact in context.walk(["Seeds"])) for _ in agents])
        return {}

    for _ in Runner(store, CONV, [ANN], ask, RunLimits()).walk_cycles():
        pass
    assert seen[:2] == [[["slow"]], [["late", "slow"]]]


def test_a_question_that_is_asked_and_answered_meanwhile_lets_its_key_run(store):
    """The other run asks it: the first one knows neither the question nor its key."""
    ran = []

    def ask_person(agents, _context):
        question = Question(id="drop", key="Seeds", text="?", agent="ann")
        return {each.number: effects(questions=(question,)) for each in agents}

    def ask(agents, _context):
        ran.append([each.name for each in agents])
        if len(ran) == 1:
            for _ in Runner(store, CONV, [ANN], ask_person, RunLimits()).walk_cycles():
                pass
            decide(store, CONV, "drop", "approved", actor="carol", rationale="")
        return {}

    for _ in Runner(store, CONV, [ANN], ask, RunLimits()).walk_cycles():
        pass
    assert ran[:2] == [["ann"], ["ann"]]
