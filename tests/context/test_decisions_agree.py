"""What is decided is the same in `decisions`, in the state that merges compare, and in every context."""

from __future__ import annotations

import pytest

from scopes.conversation.append import amend, retract
from scopes.conversation.branch import branch, rewind, switch
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.decisions import decisions, withdraw_decision
from scopes.conversation.merge import MergeConflicted, Merged, MergeOptions, continue_merge, merge
from scopes.conversation.rebase import cherry_pick, rebase
from scopes.conversation.undo import redo, undo
from scopes.errors import Invalid, NotFound, Refused
from scopes.history.names import list_branch_tips
from scopes.memory.decision_candidates import accept_candidate
from scopes.model.message import Author
from tests.context.building import built
from tests.support.decisions import decided
from tests.support.history import history, say, texts
from tests.support.store import assert_sound, refs

CAROL, LEAD = Author("carol", "human"), Author("lead", "human")


def decide(repository, decision, *, topic="db", where="conv-001/main", author="alice"):
    fields = {"kind": "decision", "decision": {"topic": topic, "decision": decision}}
    return say(repository, where, f"we use {decision}", author=author, **fields)


@pytest.fixture
def pair(repository):
    """Two decisions on db, one after the other: sqlite, then pg."""
    history(repository, "main: a")
    return decide(repository, "sqlite").id, decide(repository, "pg").id


@pytest.fixture
def in_effect(repository, exact, tmp_path):
    """Return a function that asks all three readers, which must agree, for what is in effect on a branch."""

    def ask(name="main"):
        where = f"conv-001/{name}"
        listed = [row.decision for row in decisions(repository, where).decisions if row.state == "in-effect"]
        stated = built(repository, exact, tmp_path, where).decisions
        assert sorted({each.decision for each in stated}) == sorted(set(listed)) == sorted(decided(repository, where))
        return decided(repository, where)

    return ask


def rows(repository, where="conv-001/main"):
    return [(row.decision, row.state) for row in decisions(repository, where).decisions]


def test_the_later_decision_is_in_effect(repository, pair, in_effect):
    assert in_effect() == ["pg"]
    assert rows(repository) == [("sqlite", "superseded"), ("pg", "in-effect")]


def test_a_retracted_decision_gives_way_to_the_one_before_and_that_to_none(repository, pair, in_effect):
    """M5."""
    retract(repository, "conv-001", pair[1], "wrong", author=CAROL)
    assert in_effect() == ["sqlite"]
    assert rows(repository) == [("sqlite", "in-effect"), ("pg", "withdrawn")]
    retract(repository, "conv-001", pair[0], "wrong", author=CAROL)
    assert in_effect() == []
    assert rows(repository) == [("sqlite", "withdrawn"), ("pg", "withdrawn")]


def test_a_retracted_earlier_decision_changes_nothing_in_effect(repository, pair, in_effect):
    retract(repository, "conv-001", pair[0], "", author=CAROL)
    assert in_effect() == ["pg"]


def test_a_withdrawn_topic_has_no_decision_and_the_one_before_does_not_return(repository, pair, in_effect):
    """M5."""
    withdraw_decision(repository, "conv-001", "db", author=CAROL)
    assert in_effect() == []
    assert rows(repository) == [("sqlite", "superseded"), ("pg", "withdrawn")]
    decide(repository, "neo4j")
    assert in_effect() == ["neo4j"]


def test_a_decision_amended_with_new_data_replaces_its_claim(repository, pair, in_effect):
    """M5, S4-27."""
    amend(repository, "conv-001", pair[1], "mysql", author=CAROL, data={"topic": "db", "decision": "mysql"})
    assert in_effect() == ["mysql"]


def test_a_decision_amended_without_data_is_withdrawn(repository, pair, in_effect):
    """Its text no longer states what was decided."""
    amend(repository, "conv-001", pair[1], "let us wait", author=CAROL)
    assert in_effect() == ["sqlite"]
    assert rows(repository)[1] == ("pg", "withdrawn")


def test_a_decision_amended_to_another_topic_moves_there(repository, pair, in_effect):
    amend(repository, "conv-001", pair[1], "redis", author=CAROL, data={"topic": "cache", "decision": "redis"})
    assert sorted(in_effect()) == ["redis", "sqlite"]


def test_every_step_is_undone_and_redone(repository, pair, in_effect):
    states = [in_effect()]
    for step in (
        lambda: retract(repository, "conv-001", pair[1], "", author=CAROL),
        lambda: withdraw_decision(repository, "conv-001", "db", author=CAROL),
        lambda: decide(repository, "neo4j", author="carol"),
    ):
        step()
        states.append(in_effect())
    assert states == [["pg"], ["sqlite"], [], ["neo4j"]]
    for expected in reversed(states[:-1]):
        undo(repository)
        assert in_effect() == expected
    for expected in states[1:]:
        redo(repository)
        assert in_effect() == expected


def test_a_rewind_takes_decisions_back(repository, pair, in_effect):
    rewind(repository, "conv-001", branch="main", to=pair[0])
    assert in_effect() == ["sqlite"]


def test_a_decision_stated_again_after_its_withdrawal_is_in_effect(repository, pair, in_effect):
    withdraw_decision(repository, "conv-001", "db", author=CAROL)
    decide(repository, "pg")
    assert in_effect() == ["pg"]


@pytest.mark.parametrize("spelling", ["DB", " db", "Db "])
def test_spellings_of_a_topic_are_one_topic(repository, pair, in_effect, spelling):
    """M9."""
    decide(repository, "neo4j", topic=spelling)
    assert in_effect() == ["neo4j"]
    assert withdraw_decision(repository, "conv-001", "dB", author=CAROL).decisions == ("neo4j",)
    assert in_effect() == []


def test_topics_are_independent(repository, pair, in_effect):
    decide(repository, "linux", topic="os")
    withdraw_decision(repository, "conv-001", "os", author=CAROL)
    assert in_effect() == ["pg"]


def test_each_branch_has_its_own_decisions_in_effect(repository, pair, in_effect):
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    decide(repository, "neo4j", where="conv-001/fix")
    withdraw_decision(repository, "conv-001", "db", author=CAROL, branch="main")
    assert (in_effect("main"), in_effect("fix")) == ([], ["neo4j"])
    other = [row for row in decisions(repository, "conv-001").decisions if row.state == "other-branch"]
    assert [(row.decision, row.branches) for row in other] == [("neo4j", ("fix",))]
    switch(repository, "conv-001", "fix")
    assert [row.decision for row in decisions(repository, "conv-001").decisions if row.current] == ["neo4j"]


@pytest.mark.parametrize(("strategy", "expected"), [("ours", ["pg"]), ("theirs", ["neo4j"])])
def test_a_merge_by_strategy_puts_its_side_into_effect(repository, pair, in_effect, strategy, expected):
    """S4-14."""
    branch(repository, "conv-001", name="fix", start=pair[0], switch=False)
    decide(repository, "neo4j", where="conv-001/fix")
    merge(repository, "conv-001", "fix", target="main", options=MergeOptions(strategy=strategy))
    assert in_effect() == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"take": "source"}, ["neo4j"]),
        ({"take": "target"}, ["pg"]),
        ({"take": "base"}, ["sqlite"]),
        ({"value": "x"}, ["x"]),
    ],
)
def test_a_resolution_puts_what_it_took_into_effect(repository, pair, in_effect, options, expected):
    """S4-57."""
    branch(repository, "conv-001", name="fix", start=pair[0], switch=False)
    decide(repository, "neo4j", where="conv-001/fix")
    stopped = merge(repository, "conv-001", "fix", target="main")
    resolve_conflict(repository, "conv-001", "1", author=LEAD, **options)
    assert in_effect(stopped.branch) == expected
    continue_merge(repository, "conv-001")
    assert in_effect() == expected


def test_while_a_merge_waits_the_decision_of_the_target_is_in_effect(repository, pair, in_effect):
    """S4-16."""
    branch(repository, "conv-001", name="fix", start=pair[0], switch=False)
    decide(repository, "neo4j", where="conv-001/fix")
    stopped = merge(repository, "conv-001", "fix", target="main")
    assert isinstance(stopped, MergeConflicted)
    assert (in_effect("main"), in_effect("fix")) == (["pg"], ["neo4j"])
    assert decided(repository, f"conv-001/{stopped.branch}") == ["pg"]


@pytest.mark.parametrize("way", ["withdraw", "retract", "amend"])
def test_what_one_side_ended_is_ended_by_a_merge(repository, pair, in_effect, way):
    """M5: the other side did not state it again."""
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    say(repository, "conv-001/fix", "hello")
    if way == "withdraw":
        withdraw_decision(repository, "conv-001", "db", author=CAROL, branch="main")
    elif way == "retract":
        retract(repository, "conv-001", pair[1], "", author=CAROL, branch="main")
    else:
        amend(repository, "conv-001", pair[1], "let us wait", author=CAROL, branch="main")
    expected = in_effect()
    assert isinstance(merge(repository, "conv-001", "main", target="fix"), Merged)
    assert in_effect("fix") == expected == ([] if way == "withdraw" else ["sqlite"])


@pytest.mark.parametrize("way", ["withdraw", "retract"])
def test_what_one_side_ended_and_the_other_states_again_is_a_conflict(repository, pair, way):
    """M4."""
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    if way == "withdraw":
        withdraw_decision(repository, "conv-001", "db", author=CAROL, branch="main")
    else:
        retract(repository, "conv-001", pair[1], "", author=CAROL, branch="main")
    decide(repository, "pg", where="conv-001/fix")
    for source, target in (("fix", "main"), ("main", "fix")):
        stopped = merge(repository, "conv-001", source, target=target, dry_run=True)
        assert isinstance(stopped, MergeConflicted)
        assert [each.key for each in stopped.conflicts] == ["decisions/db"]


def test_both_sides_may_withdraw_a_topic(repository, pair, in_effect):
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    for name in ("main", "fix"):
        withdraw_decision(repository, "conv-001", "db", author=CAROL, branch=name)
    assert isinstance(merge(repository, "conv-001", "fix", target="main"), Merged)
    assert in_effect() == []


@pytest.mark.parametrize("verb", ["rebase", "cherry-pick"])
def test_a_replayed_withdrawal_withdraws(repository, pair, in_effect, verb):
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    notice = withdraw_decision(repository, "conv-001", "db", author=CAROL, branch="fix").id
    say(repository, "conv-001/main", "hello")
    if verb == "rebase":
        rebase(repository, "conv-001", branch="fix", onto="main")
    else:
        cherry_pick(repository, "conv-001", [notice], branch="main")
    assert in_effect("fix" if verb == "rebase" else "main") == []


def test_an_accepted_candidate_is_in_effect_like_a_typed_decision(repository, pair, in_effect):
    sentence = say(repository, "conv-001/main", "We decided to use files.").id
    assert in_effect() == ["pg"]
    accept_candidate(repository, "conv-001", sentence, topic="db", author=CAROL)
    assert in_effect() == ["We decided to use files."]
    withdraw_decision(repository, "conv-001", "db", author=CAROL)
    assert in_effect() == []


def test_decisions_at_an_earlier_message_are_those_of_that_time(repository, pair, exact, tmp_path):
    withdraw_decision(repository, "conv-001", "db", author=CAROL)
    for where, expected in ((pair[0], ["sqlite"]), (pair[1], ["pg"]), ("main", [])):
        result = built(repository, exact, tmp_path, f"conv-001/{where}")
        assert [each.decision for each in result.decisions] == expected


@pytest.mark.parametrize("topic", ["cache", "db cache", "d", "*", "db/x", "\x1b[31m", "\u202edb"])
def test_a_topic_without_a_decision_is_not_withdrawn(repository, pair, topic):
    before = refs(repository)
    with pytest.raises(NotFound, match="is in effect on conv-001/main") as error:
        withdraw_decision(repository, "conv-001", topic, author=CAROL)
    assert error.value.hint == "list them: scopes decisions conv-001/main"
    assert refs(repository) == before


@pytest.mark.parametrize(
    ("topic", "author"), [("", CAROL), (" \n", CAROL), ("x" * 5000, CAROL), ("db", Author("", "human"))]
)
def test_a_withdrawal_without_a_valid_topic_or_author_is_refused(repository, pair, topic, author):
    before = refs(repository)
    with pytest.raises(Invalid):
        withdraw_decision(repository, "conv-001", topic, author=author)
    assert refs(repository) == before


def test_a_withdrawal_is_a_message_with_its_reason_and_can_be_retracted(repository, pair, in_effect):
    done = withdraw_decision(repository, "conv-001", "db", reason="too slow", author=CAROL)
    assert texts(repository, "conv-001/main")[-1] == "too slow"
    with_default = decide(repository, "neo4j") and withdraw_decision(repository, "conv-001", "db", author=CAROL)
    assert texts(repository, "conv-001/main")[-1] == "withdrawn: db: neo4j"
    assert with_default.id != done.id
    assert in_effect() == []
    assert_sound(repository)


def test_a_decision_cannot_be_retracted_twice(repository, pair, in_effect):
    retract(repository, "conv-001", pair[1], "", author=CAROL)
    tips = list_branch_tips(repository, "conv-001")
    with pytest.raises(Refused, match="was retracted already"):
        retract(repository, "conv-001", pair[1], "", author=CAROL)
    assert list_branch_tips(repository, "conv-001") == tips
    assert in_effect() == ["sqlite"]
