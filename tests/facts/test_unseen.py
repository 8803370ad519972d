"""What agents have not seen yet: an agent that could not run, failed or was cut short runs again without --all-keys."""

from __future__ import annotations

import json
import random

import pytest

from scopes import clock
from scopes.agents.register import AgentChanges, register, update
from scopes.conversation.new_rename_delete import new
from scopes.conversation.undo import undo
from scopes.facts.cycle import Acceptance, Effects, FactAgent
from scopes.facts.decide import promote
from scopes.facts.list import list_eligible, list_facts
from scopes.facts.propose import Proposal, propose
from scopes.facts.run import RunLimits, Runner, run_programs
from scopes.facts.store import FactChanges, FactStore
from scopes.ids import ConversationId
from scopes.store.objects import find_blob, read_commit, read_tree
from scopes.store.refs import FACTS
from scopes.store.transactions import exclusive_write
from tests.facts.statements import effects, proposed
from tests.support.random_ids import hashed_counter

CONV = ConversationId("conv-001")
ANN, BOB = FactAgent(1, "ann", ("Seeds",)), FactAgent(2, "bob", ("Seeds", "Signals"))
FAILED = Effects(problem="failed")


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def store(repository):
    """A conversation with one fact, and two agents that depend on its key."""
    new(repository)
    for agent in (ANN, BOB):
        register(repository, agent.name, dependencies=list(agent.dependencies))
    seed(repository, "slow")
    return repository


def seed(repository, fact_id, key="Seeds"):
    propose(repository, CONV, Proposal(key=key, content=fact_id, agent="carol", id=fact_id))
    promote(repository, CONV, fact_id)


def run(repository, commands, **limits):
    done = run_programs(repository, CONV, commands, RunLimits(**limits))
    return done, [[each.name for each in cycle.ran] for cycle in done.cycles]


def run_with(repository, answers, agents=(ANN, BOB), **limits):
    """Run agents that answer with given effects, by number and cycle; nothing later."""
    rows = iter(answers)
    runner = Runner(repository, CONV, agents, lambda _agents, _context: next(rows, {}), RunLimits(**limits))
    cycles = list(runner.walk_cycles())
    return runner.result(), [[(each.name, each.because) for each in cycle.ran] for cycle in cycles]


def context_document(repository):
    (entry,) = read_tree(repository, read_commit(repository, repository.find_ref(FACTS)).tree).values()
    return json.loads(find_blob(repository, entry.oid, "context.json"))


def test_an_agent_that_had_no_command_runs_when_it_has_one(store):
    """It was told to set one; the run after that said `converged: 0 cycles`."""
    done, _ = run(store, {"ann": "true"})
    assert [note.text for note in done.notes] == ["no command, so not run: bob"]
    assert [(row.agent.name, row.because) for row in list_eligible(store, CONV).agents] == [("bob", ("Seeds",))]
    assert run(store, {"ann": "true", "bob": "true"})[1] == [["bob"]]
    assert list_eligible(store, CONV).agents == ()


def test_an_agent_that_was_away_runs_when_it_is_back(store):
    update(store, "bob", AgentChanges(available=False))
    assert run(store, {"ann": "true"})[1] == [["ann"]]
    assert list_eligible(store, CONV).agents == ()
    update(store, "bob", AgentChanges(available=True))
    assert run(store, {"ann": "true", "bob": "true"})[1] == [["bob"]]


def test_an_agent_that_failed_is_tried_once_in_each_run(store):
    """So an agent that always fails ends every run."""
    for _ in range(3):
        done, ran = run(store, {"ann": "true", "bob": "exit 3"})
        assert (ran[0][-1], len(ran), done.notes[0].text) == ("bob", 1, "1 agent failed: bob")
    assert run(store, {"ann": "true", "bob": "true"})[1] == [["bob"]]
    assert run(store, {"ann": "true", "bob": "true"})[1] == []


def test_what_was_over_the_limit_of_facts_comes_with_the_next_run(store):
    """The next run without a limit said `converged`, and the facts were still missing."""
    facts = ", ".join(f'{{"key": "Signals", "content": "h{number}"}}' for number in (1, 2, 3))
    answer = f"""echo '{{"facts": [{facts}]}}'"""
    done, _ = run(store, {"ann": answer, "bob": "true"}, acceptance=Acceptance(max_facts=2))
    assert (done.ending, done.exit_code, done.added) == ("facts", 9, 1)
    assert [note.text for note in done.notes] == ["2 proposed facts over the limit of facts: left out"]
    done, _ = run(store, {"ann": answer, "bob": "true"})
    assert (done.ending, done.added) == ("converged", 2)
    assert [row.fact.content for row in list_facts(store, CONV, key="Signals").facts].count("h3") == 1


def test_an_agent_sees_in_a_retry_the_keys_that_it_missed_and_those_that_are_new(store):
    run_with(store, [{1: effects(), 2: FAILED}])
    seed(store, "loud", "Signals")
    _, ran = run_with(store, [{}])
    assert ran == [[("bob", ("Seeds", "Signals"))]]


def test_within_a_run_an_agent_is_tried_once_for_each_dirty_key(store):
    """What it missed stays for the next run, also if it runs for another key in this one."""
    answers = [{1: effects(proposed("s", "Signals")), 2: FAILED}, {2: effects()}]
    _, ran = run_with(store, answers)
    assert ran == [[("ann", ("Seeds",)), ("bob", ("Seeds",))], [("bob", ("Signals",))]]
    assert run_with(store, [{}])[1] == [[("bob", ("Seeds",))]]


def test_what_agents_have_not_seen_is_an_optional_field_that_undo_takes_back(store):
    before = store.find_ref(FACTS)
    run_with(store, [{2: FAILED}])
    assert context_document(store)["unseen"] == {"2": ["Seeds"]}
    seed(store, "more")  # a promotion keeps it
    assert context_document(store)["unseen"] == {"2": ["Seeds"]}
    run_with(store, [{}])
    assert "unseen" not in context_document(store)
    for _ in range(4):
        undo(store)
    assert store.find_ref(FACTS) == before


@pytest.mark.parametrize("damaged", [5, [], {"x": ["Seeds"]}, {"2": "Seeds"}, {"2": [None]}])
def test_a_damaged_field_is_read_as_far_as_it_can_be(store, damaged):
    """And the fields of a later version stay."""
    run_with(store, [{}])
    with exclusive_write(store):
        facts = FactStore(store, CONV)
        context = facts.read_context()
        context.more_fields = {"unseen": damaged, "later": 1}
        changes = FactChanges(facts, "damage")
        changes.add(facts.context_change(context))
        changes.commit("damage")
    assert run_with(store, [{}])[1] == []
    seed(store, "more")
    assert context_document(store)["later"] == 1


def test_the_order_of_arrival_does_not_change_who_runs_again(store):
    """S2-2: what is stored about agents that failed depends on the inputs alone."""
    trees = set()
    agents = [FactAgent(number, f"agent-{number}", ("Seeds",)) for number in range(1, 7)]
    for seed_number in range(10):
        order = list({n: FAILED if n % 2 else effects(proposed(str(n), "Signals")) for n in range(1, 7)}.items())
        random.Random(seed_number).shuffle(order)
        run_with(store, [dict(order)], agents)
        trees.add(json.dumps(context_document(store)))
        undo(store)
    assert len(trees) == 1
    assert json.loads(trees.pop())["unseen"] == {"1": ["Seeds"], "3": ["Seeds"], "5": ["Seeds"]}


def test_a_run_in_which_every_agent_failed_has_failed(store):
    """It was `converged`, with exit code 0."""
    done, _ = run(store, {"ann": "exit 3", "bob": "echo oops"})
    assert (done.ending, done.exit_code, done.added) == ("failed", 1, 0)
    done, _ = run(store, {"ann": "exit 3", "bob": "true"})
    assert (done.ending, done.exit_code, done.failed) == ("converged", 1, ("ann",)), "one of them did not"
    done, _ = run(store, {"ann": "true", "bob": "true"})
    assert (done.ending, done.exit_code, done.failed) == ("converged", 0, ())


def test_a_run_without_agents_says_why(store):
    """`converged: 0 cycles` says nothing about a conversation without facts."""
    done, ran = run(store, {"ann": "true", "bob": "true"})
    assert (ran, done.notes) == ([["ann", "bob"]], ())
    done, _ = run(store, {"ann": "true", "bob": "true"})
    assert (done.notes[0].text, done.exit_code) == ("no agent ran: there are no new facts since the last run", 0)
    seed(store, "rule", "Constraints")
    done, ran = run(store, {"ann": "true", "bob": "true"})
    assert (ran, done.notes[0].text) == ([[]], "no agent ran: none with a command depends on Constraints")
    other = new(store).id
    done = run_programs(store, other, {"ann": "true"}, RunLimits())
    assert done.notes[-1].text == f"no agent ran: {other} has no facts yet"
