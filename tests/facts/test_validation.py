"""Validation: the only way from a proposal to a fact, and why it is refused (S2-9 to S2-11)."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.facts import fact as fact_module
from scopes.facts.context import FactContext
from scopes.facts.fact import Fact, ProposedFact, Provenance
from scopes.facts.validation import ValidationError, find_problems, promote
from tests.facts.statements import proposed


def context_with(*facts):
    context = FactContext(more_keys=frozenset({"Requirements"}))
    for each in facts:
        context.add(promote(each, context))
    return context


def test_a_valid_proposal_becomes_a_fact_with_all_that_it_says():
    """S2-10, S2-15."""
    source = Provenance(agent="ann", number=3, model="m", prompt_hash="abc", sources=("a" * 40,))
    proposal = proposed("slow", "Requirements", id="r1", confidence=0.4, provenance=source)
    fact = promote(proposal, context_with(), approved_by="carol")
    assert fact == Fact(
        key="Requirements", id="r1", content="slow", confidence=0.4, provenance=source,
        validation="rules, approved by carol", version=1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("proposal", "reason"),
    [
        (proposed(" \n"), "the content is empty"),
        (proposed("x" * 100_001), "the content has over 100,000 characters"),
        (proposed(key="Seed"), "the key 'Seed' is unknown, known are Seeds, Hypotheses"),
        (proposed(key="seeds"), "the key 'seeds' is unknown"),
        (proposed(confidence=1.01), "the confidence 1.01 is not between 0 and 1"),
        (proposed(confidence=-0.1), "the confidence -0.1 is not between 0 and 1"),
        (proposed(confidence=float("nan")), "the confidence nan is not between 0 and 1"),
        (proposed(agent=" "), "the provenance names no agent"),
        (proposed("other", id="taken"), "the id 'taken' is that of a fact with other content"),
        (proposed(id="a b"), "'a b' is not an id"),
        (proposed(id=""), "'' is not an id"),
        (proposed(id="a/b"), "'a/b' is not an id"),
        (proposed(state="rejected", reason="too old"), "it was rejected: too old"),
        (proposed(invalidates="missing"), "it takes back 'missing', which is not a fact of Seeds"),
        (proposed(id="me", invalidates="me"), "it takes back 'me', which is not a fact of Seeds"),
    ],
)
def test_what_is_not_valid_stays_a_proposal_and_the_reason_is_named(proposal, reason):
    context = context_with(proposed("first", id="taken"))
    assert any(problem.startswith(reason) for problem in find_problems(proposal, context))
    with pytest.raises(ValidationError) as caught:
        promote(proposal, context)
    assert reason in str(caught.value)
    assert context.count == 1


def test_the_same_statement_again_is_valid():
    """S2-12: a duplicate is no conflict."""
    assert find_problems(proposed("first", id="taken"), context_with(proposed("first", id="taken"))) == []


def test_a_fact_takes_back_an_earlier_one_of_its_key():
    """S2-14."""
    context = context_with(proposed("20 days", id="budget"))
    assert promote(proposed("30 days", id="budget-2", invalidates="budget"), context).invalidates == "budget"


def test_a_proposal_and_a_fact_share_no_class_and_cannot_be_edited():
    """S2-9, S2-14: neither is the other, or made from the other but by `promote`."""
    assert not issubclass(ProposedFact, Fact)
    assert not issubclass(Fact, ProposedFact)
    for kind in (ProposedFact, Fact):
        assert kind.__dataclass_params__.frozen
    assert "validation" not in {field.name for field in fields(ProposedFact)}
    makers = [
        name
        for name, function in inspect.getmembers(fact_module, inspect.isfunction)
        if "Fact" in str(function.__annotations__.get("return"))
    ]
    assert makers == ["decode_fact", "decode_proposed"]


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_a_confidence_is_valid_from_0_to_1_and_nowhere_else(confidence):
    is_valid = find_problems(proposed(confidence=confidence), FactContext()) == []
    assert is_valid == (0 <= confidence <= 1)
