"""What messages state counts: reaffirmed decisions in a merge, retracted and amended ones in the state."""

from __future__ import annotations

import pytest

from scopes.conversation.append import amend, retract
from scopes.conversation.branch import branch
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.decisions import decisions
from scopes.conversation.merge import MergeConflicted, Merged, continue_merge, merge
from scopes.errors import Invalid
from scopes.model.message import Author
from tests.merge.test_recorded_conflicts import decide, decision_on, fork
from tests.support.history import history, say
from tests.support.store import assert_sound

CAROL = Author("carol")


@pytest.mark.parametrize(("source", "target"), [("fix", "main"), ("main", "fix")])
def test_a_decision_made_again_after_the_base_disagrees_with_another_one(repository, source, target):
    """M4: the reaffirmed decision was overwritten without a word."""
    fork(repository, base="sqlite", main="sqlite", fix="my")
    done = merge(repository, "conv-001", source, target=target)
    assert isinstance(done, MergeConflicted)
    (conflict,) = done.conflicts
    sides = {side: [(p.value, p.agent) for p in getattr(conflict, side)] for side in ("base", "target", "source")}
    names = {"main": [("sqlite", "alice")], "fix": [("my", "dave")]}
    assert sides == {"base": [("sqlite", "carol")], "target": names[target], "source": names[source]}
    resolve_conflict(repository, "conv-001", "1", take="source", author=CAROL)
    continue_merge(repository, "conv-001")
    assert f'"{names[source][0][0]}"'.encode() in decision_on(repository, target)
    assert_sound(repository)


def test_a_decision_that_both_sides_made_again_is_no_conflict(repository):
    fork(repository, base="sqlite", main="sqlite", fix="sqlite")
    assert isinstance(merge(repository, "conv-001", "fix", target="main"), Merged)


def test_a_merge_of_another_program_that_names_no_key_states_nothing(repository):
    fork(repository, base="sqlite", main="sqlite", fix="sqlite")
    say(repository, "conv-001/main", "joined", kind="merge", merge={"resolved": [{"key": 5}, {"id": "x"}]})
    assert isinstance(merge(repository, "conv-001", "fix", target="main"), Merged)


def test_a_finding_made_again_disagrees_with_a_new_one_of_the_same_agent(repository):
    """M4, for keys on which each agent has a claim."""
    history(repository, "main: a")

    def find(name, finding):
        analysis = {"subject": "s", "aspect": "risk", "confidence": 0.5, "finding": finding}
        say(repository, f"conv-001/{name}", "x", author="dave", kind="analysis", analysis=analysis)

    find("main", "low")
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    find("main", "low")
    find("fix", "high")
    assert isinstance(merge(repository, "conv-001", "fix", target="main"), MergeConflicted)


def test_a_retracted_reaffirmation_is_no_statement(repository):
    fork(repository, base="sqlite", main="sqlite", fix="my")
    retract(repository, "conv-001", "main", "", author=CAROL, branch="main")
    assert isinstance(merge(repository, "conv-001", "fix", target="main"), Merged)
    assert b'"my"' in decision_on(repository, "main")


def current(repository):
    return [row.decision for row in decisions(repository, "conv-001").decisions if row.current]


def test_a_retracted_decision_gives_way_to_the_one_before(repository):
    """M5."""
    history(repository, "main: a")
    first = decide(repository, "conv-001/main", "sqlite")
    second = decide(repository, "conv-001/main", "pg")
    done = retract(repository, "conv-001", second.id, "", author=CAROL)
    assert current(repository) == ["sqlite"]
    assert "decisions/db" in done.notes[0].text
    retract(repository, "conv-001", first.id, "", author=CAROL)
    assert current(repository) == []
    assert decision_on(repository, "main") is None
    assert_sound(repository)


def test_a_retracted_decision_that_was_replaced_since_changes_no_claim(repository):
    history(repository, "main: a")
    first = decide(repository, "conv-001/main", "sqlite")
    decide(repository, "conv-001/main", "pg")
    retract(repository, "conv-001", first.id, "", author=CAROL)
    assert current(repository) == ["pg"]


def test_a_retracted_decision_that_was_made_again_still_holds(repository):
    history(repository, "main: a")
    first = decide(repository, "conv-001/main", "sqlite")
    decide(repository, "conv-001/main", "sqlite")
    retract(repository, "conv-001", first.id, "", author=CAROL)
    assert b"sqlite" in decision_on(repository, "main")


def test_a_decision_amended_to_plain_text_is_withdrawn_and_a_note_says_so(repository):
    """M5."""
    history(repository, "main: a")
    first = decide(repository, "conv-001/main", "sqlite")
    done = amend(repository, "conv-001", first.id, "perhaps sqlite", author=CAROL)
    assert decision_on(repository, "main") is None
    assert "--data" in done.notes[0].hint


def test_a_decision_amended_with_data_is_replaced(repository):
    """M5."""
    history(repository, "main: a")
    first = decide(repository, "conv-001/main", "sqlite")
    done = amend(
        repository, "conv-001", first.id, "pg", author=CAROL, data={"topic": "db", "decision": "pg", "reasoning": ""}
    )
    assert not done.notes
    assert current(repository) == ["pg"]
    with pytest.raises(Invalid):
        amend(repository, "conv-001", "main~2", "x", author=CAROL, data={"topic": "db", "decision": "pg"})


def test_a_retraction_disagrees_with_another_decision_on_the_other_side(repository):
    history(repository, "main: a")
    first = decide(repository, "conv-001/main", "sqlite")
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    retract(repository, "conv-001", first.id, "", author=CAROL, branch="main")
    decide(repository, "conv-001/fix", "my")
    done = merge(repository, "conv-001", "fix", target="main")
    assert [conflict.type for conflict in done.conflicts] == ["decision-disagreement"]


def test_a_resolution_that_took_a_retracted_decision_is_void_with_it(repository):
    fork(repository)
    merge(repository, "conv-001", "fix", target="main")
    resolve_conflict(repository, "conv-001", "1", take="source", author=CAROL)
    continue_merge(repository, "conv-001")
    retract(repository, "conv-001", "fix", "", author=CAROL, branch="main")
    assert decision_on(repository, "main") is None


@pytest.mark.parametrize("resolving", ["main", "fix"])
def test_the_author_of_a_value_is_who_stated_it_and_not_who_chose_it(repository, resolving):
    """M6: it depended on the direction of the merge in which the conflict was resolved."""
    fork(repository)
    branch(repository, "conv-001", name="third", start="main~1", switch=False)
    decide(repository, "conv-001/third", "neo4j", author="zoe")
    merge(repository, "conv-001", "fix" if resolving == "main" else "main", target=resolving)
    take = "source" if resolving == "main" else "target"
    resolve_conflict(repository, "conv-001", "1", take=take, author=Author("judge"))
    continue_merge(repository, "conv-001")
    (conflict,) = merge(repository, "conv-001", "third", target=resolving).conflicts
    (position,) = conflict.target
    assert (position.value, position.agent) == ("my", "dave")


def test_the_author_of_a_new_value_is_who_resolved_the_conflict_with_it(repository):
    fork(repository)
    branch(repository, "conv-001", name="third", start="main~1", switch=False)
    decide(repository, "conv-001/third", "neo4j", author="zoe")
    merge(repository, "conv-001", "fix", target="main")
    resolve_conflict(repository, "conv-001", "1", value="duckdb", author=Author("judge"))
    continue_merge(repository, "conv-001")
    (conflict,) = merge(repository, "conv-001", "third", target="main").conflicts
    (position,) = conflict.target
    assert (position.value, position.agent) == ("duckdb", "judge")


@pytest.mark.parametrize("other", ["Database", "database ", "DATABASE"])
@pytest.mark.parametrize(("source", "target"), [("fix", "main"), ("main", "fix")])
def test_topics_that_differ_in_case_or_outer_spaces_are_one_topic(repository, other, source, target):
    """M9: they never met."""
    history(repository, "main: a")
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    decide(repository, "conv-001/main", "pg", topic="database")
    decide(repository, "conv-001/fix", "my", topic=other)
    (conflict,) = merge(repository, "conv-001", source, target=target).conflicts
    assert (conflict.type, conflict.key) == ("decision-disagreement", "decisions/database")
    resolve_conflict(repository, "conv-001", "1", take="source", author=CAROL)
    continue_merge(repository, "conv-001")
    rows = decisions(repository, f"conv-001/{target}").decisions
    assert [row.decision for row in rows if row.current] == ["my" if source == "fix" else "pg"]
    assert_sound(repository)


def test_values_that_differ_in_case_only_are_a_note_and_no_open_conflict(repository):
    """M9; the merged state does not depend on the direction."""
    fork(repository, main="PostgreSQL", fix="postgresql")
    branch(repository, "conv-001", name="copy", start="main", switch=False)
    for source, target in (("fix", "main"), ("copy", "fix")):
        done = merge(repository, "conv-001", source, target=target)
        assert isinstance(done, Merged)
        assert "taken as the same" in done.notes[0].text
        assert b"PostgreSQL" in decision_on(repository, target)


@pytest.mark.parametrize(("source", "target"), [("third", "main"), ("main", "third")])
@pytest.mark.parametrize("answer", [{"take": "target"}, {"value": "sqlite"}, {"take": "base"}])
def test_a_value_that_a_resolution_states_again_has_its_first_author(repository, source, target, answer):
    """M6: the resolver was named as the author."""
    fork(repository, base="sqlite", main="sqlite", fix="my")
    branch(repository, "conv-001", name="third", start="main~1", switch=False)
    decide(repository, "conv-001/third", "neo4j", author="zoe")
    merge(repository, "conv-001", "fix", target="main")
    resolve_conflict(repository, "conv-001", "1", **answer, author=Author("judge"))
    continue_merge(repository, "conv-001")
    (conflict,) = merge(repository, "conv-001", source, target=target).conflicts
    (position,) = conflict.target if target == "main" else conflict.source
    assert position.value == "sqlite"
    assert position.agent in {"carol", "alice"}
