"""Cycles: who runs, and that the result does not depend on who was faster."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.facts.context import FactContext
from scopes.facts.cycle import Acceptance, DependencyIndex, Effects, merge_cycle
from scopes.facts.fact import KEYS, Question
from tests.facts.statements import ALL, agent, effects, proposed


def names(agents):
    return [each.number for each in agents]


def outcomes(cycle):
    return [(each.agent, each.id, each.outcome) for each in cycle.applied]


def ids(context):
    return [(fact.key, fact.id, fact.content, fact.provenance.agent) for fact in context.walk()]


def test_agents_with_a_dirty_dependency_are_eligible_once_by_number():
    """S2-4, S2-5."""
    index = DependencyIndex.of([agent(3, "Seeds"), agent(1, "Seeds", "Signals"), agent(2, "Constraints")])
    assert names(index.eligible({"Seeds", "Signals"})) == [1, 3]
    assert names(index.eligible({"signals"})) == [1]
    assert names(index.eligible(())) == []


def test_the_index_follows_registration():
    """S2-4."""
    index = DependencyIndex.of([agent(1, "Seeds"), agent(2, "Seeds")])
    index.unregister(1)
    index.register(agent(2, "Signals"))
    index.register(agent(5, "Seeds"))
    index.unregister(99)
    assert names(index.eligible({"Seeds"})) == [5]
    assert names(index.eligible({"Signals"})) == [2]


def test_effects_are_applied_by_number_then_as_the_agent_wrote_them():
    """S2-2."""
    context = FactContext()
    first, second = agent(1, "Seeds"), agent(2, "Seeds")
    given = {
        2: effects(proposed("b", id="x"), proposed("c", id="y")),
        1: effects(proposed("a", id="x"), proposed("d", id="z")),
    }
    cycle = merge_cycle(context, [second, first], given, ALL)
    assert outcomes(cycle) == [(1, "x", "added"), (1, "z", "added"), (2, "x", "conflict"), (2, "y", "added")]
    assert context.find("Seeds", "x").content == "a"


def test_a_cycle_returns_the_keys_with_new_facts():
    """S2-7, S2-8, S2-13."""
    context = FactContext(dirty=frozenset({"Seeds"}))
    cycle = merge_cycle(context, [agent(1)], {1: effects(proposed(), proposed("s", "Signals"))}, ALL)
    assert cycle.dirty == context.dirty == {"Seeds", "Signals"}
    assert (context.version, context.has_converged) == (1, False)
    again = merge_cycle(context, [agent(1)], {1: effects(proposed(), proposed("s", "Signals"))}, ALL)
    assert [each.outcome for each in again.applied] == ["known", "known"]
    assert (again.dirty, context.version, context.cycles, context.has_converged) == (frozenset(), 1, 2, True)


def test_an_agent_that_failed_contributes_nothing_and_stops_no_one():
    """S2-19."""
    context = FactContext(dirty=frozenset({"Seeds"}))
    failed = Effects(facts=(proposed("lost"),), problem="failed with exit code 1")
    cycle = merge_cycle(context, [agent(1, "Seeds"), agent(2, "Seeds")], {1: failed, 2: effects(proposed("kept"))}, ALL)
    assert [fact.content for fact in context.walk()] == ["kept"]
    assert [(each.agent, each.problem) for each in cycle.ran] == [(1, "failed with exit code 1"), (2, None)]


def test_what_is_not_valid_is_left_out_and_named():
    context = FactContext()
    cycle = merge_cycle(context, [agent(1)], {1: effects(proposed(""), proposed(key="Seed"), proposed("ok"))}, ALL)
    assert [each.outcome for each in cycle.applied] == ["invalid", "invalid", "added"]
    assert cycle.applied[0].reason == "the content is empty"


def test_the_limit_of_facts_keeps_what_was_added_until_then():
    """S2-18."""
    context = FactContext()
    given = {1: effects(*(proposed(str(number)) for number in range(5)))}
    cycle = merge_cycle(context, [agent(1)], given, Acceptance(max_facts=3))
    assert (cycle.is_full, context.count) == (True, 3)
    assert [each.outcome for each in cycle.applied] == ["added"] * 3 + ["over limit"] * 2


@pytest.mark.parametrize("acceptance", [Acceptance(review=True), Acceptance(min_confidence=0.9)])
def test_what_a_person_decides_about_becomes_no_fact(acceptance):
    context = FactContext()
    cycle = merge_cycle(context, [agent(1)], {1: effects(proposed("a", confidence=0.8, id="a"))}, acceptance)
    assert (context.count, [each.id for each in cycle.proposals]) == (0, ["a"])
    assert cycle.dirty == frozenset()


def test_two_proposals_of_one_id_are_a_conflict():
    given = {1: effects(proposed("a", id="x")), 2: effects(proposed("b", id="x"))}
    cycle = merge_cycle(FactContext(), [agent(1), agent(2)], given, Acceptance(review=True))
    assert [each.outcome for each in cycle.applied] == ["proposed", "conflict"]
    assert [each.content for each in cycle.proposals] == ["a"]


def test_a_question_is_asked_once_and_not_again_when_it_was_decided():
    """S2-17."""
    asked = Effects(questions=(Question(id="q", key="Seeds", text="drop?", agent="ann"),))
    context = FactContext()
    assert [each.id for each in merge_cycle(context, [agent(1)], {1: asked}, ALL).questions] == ["q"]
    assert merge_cycle(context, [agent(1)], {1: asked}, ALL).questions == ()
    context.questions.clear()
    context.decided = frozenset({"q"})
    assert merge_cycle(context, [agent(1)], {1: asked}, ALL).questions == ()


def test_an_agent_without_effects_may_be_missing():
    assert merge_cycle(FactContext(), [agent(1)], {}, ALL).applied == ()


FACTS = st.builds(
    lambda key, number, text: proposed(text, key, id=str(number)),
    st.sampled_from(KEYS), st.integers(0, 5), st.sampled_from(["a", "b", ""]),
)  # fmt: skip
SCHEDULES = st.dictionaries(
    st.integers(1, 6), st.lists(FACTS, max_size=4).map(lambda facts: effects(*facts)), max_size=6
)


@given(SCHEDULES, st.randoms(use_true_random=False))
def test_the_order_of_arrival_changes_nothing(given_effects, shuffled):
    """S2-2: a law over random effects of up to six agents in random orders of arrival."""
    agents = [agent(number, "Seeds") for number in given_effects]
    expected, plain = FactContext(), dict(sorted(given_effects.items()))
    cycle = merge_cycle(expected, sorted(agents), plain, ALL)
    order = list(given_effects.items())
    shuffled.shuffle(order)
    shuffled.shuffle(agents)
    context = FactContext()
    other = merge_cycle(context, agents, dict(order), ALL)
    assert ids(context) == ids(expected)
    assert (other.applied, other.dirty, other.version) == (cycle.applied, cycle.dirty, cycle.version)


@given(st.lists(SCHEDULES, max_size=4))
def test_facts_are_only_added_and_only_what_is_valid(schedule):
    """S2-14, S2-10: a law over several cycles."""
    context, known = FactContext(), {}
    for given_effects in schedule:
        version = context.version
        cycle = merge_cycle(context, [agent(number) for number in given_effects], given_effects, ALL)
        now = {(fact.key, fact.id): fact.content for fact in context.walk()}
        assert now.items() >= known.items()
        assert all(now.values())
        assert context.version - version == bool(cycle.dirty) == (len(now) > len(known))
        known = now


def test_a_thousand_random_schedules_have_one_result():
    """The permutation property over 1,000 schedules, each with 5 agents in another order of arrival."""
    draw = random.Random(7)
    given_effects = {
        number: effects(*(proposed(draw.choice("ab"), id=str(draw.randrange(8)), number=number) for _ in range(6)))
        for number in range(1, 6)
    }
    results = set()
    for _ in range(1000):
        order = list(given_effects.items())
        draw.shuffle(order)
        context = FactContext()
        merge_cycle(context, [agent(number, "Seeds") for number, _ in order], dict(order), ALL)
        results.add(tuple(ids(context)))
    assert len(results) == 1
