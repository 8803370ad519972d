"""The laws of facts, for commands in any order on a real store."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes import clock
from scopes.conversation.new_rename_delete import new
from scopes.conversation.verify import verify
from scopes.errors import ScopesError
from scopes.facts.cycle import Acceptance, FactAgent
from scopes.facts.damage import walk_fact_defects
from scopes.facts.decide import accept, decide, promote, reject
from scopes.facts.fact import ProposedFact, decode_fact
from scopes.facts.propose import Proposal, propose
from scopes.facts.run import RunLimits, Runner
from scopes.facts.store import FactStore
from scopes.facts.validation import find_problems
from scopes.history.handles import read_uuid
from scopes.store.objects import read_blob, read_commit, read_tree, walk_blobs
from scopes.store.refs import FACTS
from tests.facts.statements import effects, proposed
from tests.support.examples import examples
from tests.support.random_ids import hashed_counter
from tests.support.store import make_store

CONV = "conv-001"
IDS = st.sampled_from(["a", "b"])
VALID = st.builds(lambda fact_id, content: proposed(content, "Seeds", id=fact_id), IDS, st.sampled_from(["x", "y"]))
ANY = st.builds(
    lambda key, fact_id, content, confidence, before: proposed(
        content, key, id=fact_id, confidence=confidence, invalidates=before
    ),
    st.sampled_from(["Seeds", "Signals", "Nothing"]), st.sampled_from(["a", "b", "c", "not an id"]),
    st.sampled_from(["x", "y", " "]), st.sampled_from([0.0, 1.0, 1.5, float("nan")]), st.none() | IDS,
)  # fmt: skip
STATEMENTS = VALID | VALID | ANY
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("propose"), STATEMENTS),
        st.tuples(st.just("run"), st.lists(STATEMENTS, min_size=1, max_size=3)),
        st.tuples(st.just("review"), st.lists(STATEMENTS, min_size=1, max_size=3)),
        st.tuples(st.sampled_from(["promote", "accept", "reject", "refine"]), IDS),
    ),
    min_size=8,  # short lists hardly ever have two statements of one id
    max_size=14,
)
MOVES = {
    "promote": lambda r, name: promote(r, CONV, name),
    "accept": lambda r, name: accept(r, CONV, name, actor="carol"),
    "reject": lambda r, name: reject(r, CONV, name, actor="carol", reason="no"),
    "refine": lambda r, name: decide(r, CONV, name, "refine", actor="carol", rationale="why?"),
}


def run(repository, conversation, by_agent, *, limits=None):
    """Run agents, given what each returns in the first cycle in the order of arrival; they return nothing later."""
    agents = [FactAgent(number, f"agent-{number}", ("Seeds",)) for number in by_agent]
    answers = dict(by_agent)

    def ask(_agents, _context):
        answered, arrived = dict(answers), answers.clear()
        return answered if arrived is None else {}

    runner = Runner(repository, conversation, agents, ask, limits or RunLimits(all_keys=True))
    runner.context.dirty = frozenset({"Seeds"})
    for _ in runner.walk_cycles():
        pass


def step(repository, verb, given_value):
    """Run a command; a refused one changes nothing."""
    if verb == "propose":
        fact = given_value
        given_fact = Proposal(
            key=fact.key, content=fact.content, agent="ann", id=fact.id, confidence=fact.confidence,
            invalidates=fact.invalidates,
        )  # fmt: skip
        propose(repository, CONV, given_fact)
    elif verb in {"run", "review"}:
        limits = RunLimits(acceptance=Acceptance(review=verb == "review"))
        run(repository, CONV, {1: effects(*given_value)}, limits=limits)
    else:
        MOVES[verb](repository, given_value)


def fact_blobs(repository):
    """Return the stored facts: object ids by path."""
    commit = repository.find_ref(FACTS)
    tree = None if commit is None else read_commit(repository, commit).tree
    return {} if tree is None else {path: oid for path, oid in walk_blobs(repository, tree) if "/facts/" in path}


def as_proposal(fact):
    """Return the proposal that a fact was."""
    return ProposedFact(
        key=fact.key, id=fact.id, content=fact.content, confidence=fact.confidence, provenance=fact.provenance,
        invalidates=fact.invalidates, proposed="",
    )  # fmt: skip


@given(STEPS)
@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_fact_is_edited_and_none_comes_without_validation(tmp_path_factory, steps):
    """S2-10, S2-14: whatever the commands, a stored fact keeps its bytes, and was valid in the context before it."""
    repository = make_store(tmp_path_factory.mktemp("law") / "store.git")
    new(repository)
    for verb, given_value in steps:
        before, refs = fact_blobs(repository), repository.list_refs("refs/")
        context = FactStore(repository, CONV).read_context()
        try:
            step(repository, verb, given_value)
        except ScopesError:
            assert repository.list_refs("refs/") == refs
            continue
        after = fact_blobs(repository)
        assert before.items() <= after.items()
        added = [decode_fact(read_blob(repository, after[path])) for path in sorted(after.keys() - before.keys())]
        assert added == [] or verb in {"promote", "accept", "run"}
        for fact in added:
            context.add(fact)
        for fact in added:
            assert fact.validation == ("rules, approved by carol" if verb == "accept" else "rules")
            assert find_problems(as_proposal(fact), context) == []
    assert verify(repository, (walk_fact_defects,)).findings == ()


def subtree(repository, conversation):
    """Return the tree of a conversation's facts, cycles and context; it is below a random uuid."""
    top = read_tree(repository, read_commit(repository, repository.find_ref(FACTS)).tree)
    return top[read_uuid(repository, conversation)].oid


def schedule_tree(repository, by_agent):
    """Run a schedule in a new conversation and return the tree that it leads to."""
    conversation = new(repository).id
    run(repository, conversation, by_agent)
    return subtree(repository, conversation)


SCHEDULES = st.dictionaries(st.integers(1, 6), st.lists(STATEMENTS, max_size=4), min_size=1, max_size=6)


@given(SCHEDULES, st.randoms(use_true_random=False))
@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.slow
def test_the_order_of_arrival_changes_no_tree(tmp_path_factory, schedule, draw):
    """S2-2, S2-3: the trees of two conversations in one store, whose agents answered in another order."""
    repository = make_store(tmp_path_factory.mktemp("law") / "store.git")
    given_effects = {number: effects(*facts) for number, facts in schedule.items()}
    order = list(given_effects.items())
    draw.shuffle(order)
    assert schedule_tree(repository, given_effects) == schedule_tree(repository, dict(order))


@pytest.mark.parametrize("count", [40, pytest.param(1000, marks=pytest.mark.sweep)])
def test_random_schedules_lead_to_one_tree(tmp_path, monkeypatch, count):
    """The permutation property over 1,000 random schedules, each in a conversation of its own; 40 in every run."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    draw = random.Random(7)
    given_effects = {
        number: effects(*(proposed(draw.choice("ab"), id=str(draw.randrange(8)), number=number) for _ in range(6)))
        for number in range(1, 6)
    }
    trees = set()
    for number in range(count):
        if number % 40 == 0:  # a store of many conversations takes longer to write to
            repository = make_store(tmp_path / f"store-{number}.git")
        order = list(given_effects.items())
        draw.shuffle(order)
        trees.add(schedule_tree(repository, dict(order)))
    assert len(trees) == 1


def test_a_proposal_that_is_promoted_twice_at_once_is_promoted_once(tmp_path, monkeypatch):
    """The second one finds no proposal: there is nothing left to promote."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    repository = make_store(tmp_path / "store.git")
    new(repository)
    propose(repository, CONV, Proposal(key="Seeds", content="x", agent="ann", id="a"))
    promote(repository, CONV, "a")
    refs = repository.list_refs("refs/")
    with suppress(ScopesError):
        promote(repository, CONV, "a")
    assert repository.list_refs("refs/") == refs
