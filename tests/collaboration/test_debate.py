"""The phases of a debate follow from the positions: common ground, compromises, evaluation, consensus or escalation."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.collaboration.collaboration import argument_message, check_argument, find_debates
from scopes.errors import Invalid
from scopes.model.message import EVIDENCE_TYPES, Argument, Author, Evidence, Position, read_argument


def held(author, position, *, about="the task", **fields):
    """Return the position of an author."""
    return Position(
        author=author, time=None, message=author, argument=Argument(about=about, position=position, **fields)
    )


def phases(*positions):
    return [(each.about, each.phase) for each in find_debates(positions)]


@pytest.mark.parametrize(
    ("positions", "phase"),
    [
        ([held("ann", "JWT")], "arguments"),
        ([held("ann", "JWT"), held("bob", " jwt ")], "consensus"),
        ([held("ann", "JWT"), held("bob", "Sessions", alternatives=("jwt",))], "compromise"),
        ([held("ann", "JWT", reasoning=("audit",)), held("bob", "Sessions", reasoning=("Audit",))], "common-ground"),
        ([held("ann", "JWT"), held("bob", "Sessions")], "escalation"),
        ([held("ann", "JWT"), held("bob", "B"), held("eve", "C", alternatives=("JWT",))], "escalation"),
    ],
)
def test_a_debate_is_in_the_phase_that_its_positions_have_reached(positions, phase):
    """Appendix A: arguments, common ground, compromises, evaluation, consensus or escalation."""
    assert phases(*positions) == [("the task", phase)]


def test_common_ground_is_what_several_say_that_of_most_first():
    debate, = find_debates([
        held("ann", "JWT", reasoning=("it is audited",), trade_offs=("memory",)),
        held("bob", "Sessions", reasoning=("It is  AUDITED",), alternatives=("PASETO",)),
        held("eve", "Cookies", reasoning=("it is audited",), alternatives=("paseto", "memory")),
    ])  # fmt: skip
    assert [(each.text, each.agents) for each in debate.common_ground] == [
        ("it is audited", ("ann", "bob", "eve")), ("memory", ("ann", "eve")), ("PASETO", ("bob", "eve")),
    ]  # fmt: skip


def test_positions_are_evaluated_by_support_then_confidence_then_evidence():
    heavy = (
        Evidence(type="best-practice", description="d", weight=0.9),
        Evidence(type="user-feedback", description="d"),
    )
    debate, = find_debates([
        held("ann", "A", confidence=0.5, evidence=heavy), held("bob", "B", confidence=0.9),
        held("eve", "C", alternatives=("B",)), held("dan", "D", confidence=0.5),
    ])  # fmt: skip
    assert [each.position for each in debate.choices] == ["B", "A", "D", "C"]
    first, second = debate.choices[:2]
    assert (first.holders, first.accepted_by, first.confidence) == (("bob",), ("eve",), 0.9)
    assert (second.evidence, second.weight) == (2, 1.9)


POSITIONS = st.lists(
    st.builds(
        lambda author, position, about, alternatives, confidence: held(
            author, position, about=about, alternatives=tuple(alternatives), confidence=confidence
        ),
        st.sampled_from(["ann", "bob", "eve"]), st.sampled_from(["A", "a", "B"]), st.sampled_from(["x", "y"]),
        st.lists(st.sampled_from(["A", "B", "C"]), max_size=2), st.none() | st.floats(0, 1),
    ),
    max_size=6, unique_by=lambda each: (each.author, each.argument.about),
)  # fmt: skip


@given(POSITIONS)
def test_every_position_is_in_one_choice_and_consensus_is_one_choice(positions):
    debates = find_debates(positions)
    assert sum(len(choice.holders) for debate in debates for choice in debate.choices) == len(positions)
    for debate in debates:
        authors = {each.author for each in positions if each.argument.about == debate.about}
        assert (debate.phase == "consensus") == (len(debate.choices) == 1 and len(authors) > 1)
        assert all(set(each.holders).isdisjoint(each.accepted_by) for each in debate.choices)


@pytest.mark.parametrize("weight", [2, -1, 1.5])
def test_a_weight_is_from_0_to_1(weight):
    evidence = Evidence(type="best-practice", description="x", weight=weight)
    with pytest.raises(Invalid, match=r"the weight .* is not between 0 and 1"):
        check_argument(Argument(about="a", position="p", evidence=(evidence,)))


@given(
    st.lists(
        st.builds(
            Evidence,
            type=st.sampled_from(EVIDENCE_TYPES), description=st.text(min_size=1), source=st.none() | st.text(),
            weight=st.none() | st.floats(0, 1),
        ),
        max_size=3,
    )
)  # fmt: skip
def test_an_argument_survives_its_stored_form(evidence):
    argument = Argument(about="a", position="p", evidence=tuple(evidence), confidence=0.5)
    assert (
        read_argument(json.loads(json.dumps(argument_message(argument, Author("ann")).extra["argument"]))) == argument
    )


@pytest.mark.parametrize("weight", ["heavy", 7, -1, True, None, [], float("nan"), 10**400])
def test_a_weight_or_confidence_that_is_none_is_left_out(weight):
    """As a newer version, or another program, may have written it."""
    evidence = [{"type": "best-practice", "description": "d", "weight": weight, "source": 5, "later": {}}]
    argument = read_argument({"about": "a", "position": "p", "evidence": evidence, "confidence": weight})
    assert argument.evidence == (Evidence(type="best-practice", description="d"),)
    assert argument.confidence is None
