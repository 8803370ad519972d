"""The budgets of a run that nobody set: 100 cycles and 10,000 facts, with partial results and exit code 9 (S2-18)."""

from __future__ import annotations

import pytest

from scopes import clock
from scopes.conversation.new_rename_delete import new
from scopes.conversation.undo import undo
from scopes.facts.cycle import FactAgent
from scopes.facts.run import RunLimits, Runner
from scopes.facts.store import FactStore
from scopes.ids import ConversationId
from scopes.store.refs import FACTS
from tests.facts.statements import effects, proposed
from tests.support.random_ids import hashed_counter

CONV = ConversationId("conv-001")


@pytest.fixture
def run(repository, monkeypatch):
    """Run one agent, given the facts that it proposes in each cycle, with the default limits."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    new(repository)

    def run_agent(facts_of):
        def ask(agents, context):
            return {each.number: effects(*facts_of(context.cycles)) for each in agents}

        runner = Runner(repository, CONV, [FactAgent(1, "ann", ("Seeds",))], ask, RunLimits())
        runner.context.dirty = frozenset({"Seeds"})
        for _ in runner.walk_cycles():
            pass
        return runner.result()

    run_agent.repository = repository
    return run_agent


def test_a_run_that_does_not_converge_stops_after_100_cycles(run):
    done = run(lambda cycle: [proposed(f"n{cycle}")])
    assert (done.ending, done.exit_code, len(done.cycles), done.added, done.version) == ("cycles", 9, 100, 100, 100)
    assert FactStore(run.repository, CONV).read_context().count == 100
    undo(run.repository)
    assert run.repository.find_ref(FACTS) is None, "undo takes back all cycles in one step"


def test_a_run_stops_at_10000_facts_and_keeps_them(run):
    done = run(lambda cycle: [proposed(f"n{number}") for number in range(10_003)])
    assert (done.ending, done.exit_code, done.added, len(done.cycles)) == ("facts", 9, 10_000, 1)
    left_out = [each for each in done.cycles[0].applied if each.outcome == "over limit"]
    assert [each.reason for each in left_out] == ["there are 10,000 facts"] * 3
    assert sum(1 for _ in FactStore(run.repository, CONV).walk("Seeds")) == 10_000
