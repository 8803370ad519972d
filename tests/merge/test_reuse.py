"""Conflicts that were resolved before: the earlier resolution is shown, or applied again (M7)."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.conflicts import list_conflicts, resolve_conflict, show_conflict
from scopes.conversation.decisions import decisions
from scopes.conversation.merge import MergeConflicted, Merged, MergeOptions, continue_merge, merge
from scopes.conversation.rebase import cherry_pick, rebase
from scopes.errors import Invalid, Refused
from scopes.history.messages import read_message
from scopes.history.names import list_branch_tips
from scopes.merge import resolve as earlier_resolutions
from scopes.merge.compare import state_of
from scopes.merge.plan import list_conflicts_at
from scopes.merge.replay import ReplayConflicted, Replayed
from scopes.model.message import Author
from tests.merge.test_recorded_conflicts import decide, decision_on, fork
from tests.support.history import history, say
from tests.support.store import assert_sound, with_settings

LEAD, CAROL = Author("lead"), Author("carol")


def resolved_before(repository, *, take="source", value=None, reason="it is fast", swapped=False, **decisions):
    """Resolve pg against my on the branch `one`; the same question is open between fix and the branch `two`."""
    fork(repository, **decisions)
    for name in ("one", "two"):
        branch(repository, "conv-001", name=name, start="main", switch=False)
    source, target = ("one", "fix") if swapped else ("fix", "one")
    if swapped:
        branch(repository, "conv-001", name="fix-old", start="fix", switch=False)
    merge(repository, "conv-001", source, target=target)
    take = None if value is not None else take
    resolve_conflict(repository, "conv-001", "1", take=take, value=value, reason=reason, author=LEAD)
    continue_merge(repository, "conv-001")


def test_a_merge_shows_how_the_same_question_was_resolved_before(repository):
    """M7."""
    resolved_before(repository)
    planned = merge(repository, "conv-001", "fix", target="two", dry_run=True)
    done = merge(repository, "conv-001", "fix", target="two")
    assert isinstance(done, MergeConflicted)
    assert planned.conflicts == done.conflicts
    (conflict,) = done.conflicts
    (earlier,) = conflict.earlier
    assert (earlier.choice, earlier.values, earlier.actor, earlier.reason) == ("source", ("my",), "lead", "it is fast")
    assert (earlier.conflict, earlier.time[:4]) == (conflict.id, "2026")
    (row,) = list_conflicts(repository, "conv-001").conflicts
    assert row.conflict.earlier == (earlier,)
    assert show_conflict(repository, "conv-001", "1").row.conflict.earlier == (earlier,)


@pytest.mark.parametrize("take", ["source", "target", "base", "both"])
def test_an_earlier_outcome_is_applied_with_the_names_of_who_decided(repository, take):
    """M7."""
    if take == "both":
        history(repository, "main: a", "fix@a:", "one@a:", "two@a:")
        for name, word in (("fix", "low"), ("one", "high"), ("two", "high")):
            analysis = {"subject": "s", "aspect": "risk", "confidence": 0.5, "finding": word}
            say(repository, f"conv-001/{name}", "x", author=name[0] + "x", kind="analysis", analysis=analysis)
        merge(repository, "conv-001", "fix", target="one")
        resolve_conflict(repository, "conv-001", "1", take="both", reason="it is fast", author=LEAD)
        continue_merge(repository, "conv-001")
    else:
        resolved_before(repository, take=take)
    done = merge(with_settings(repository, reuse="apply"), "conv-001", "fix", target="two")
    assert isinstance(done, Merged)
    (conflict,) = done.conflicts
    resolution = conflict.resolution
    assert (resolution.strategy, resolution.choice, resolution.reason) == ("reused", take, "it is fast")
    assert resolution.reused[1:] == ("lead", "it is fast")
    assert "resolved as before by lead, because it is fast" in done.notes[0].text
    (document,) = read_message(repository, done.tip).extra["merge"]["resolved"]
    assert document["reused"] == {"conflict": resolution.reused.conflict, "actor": "lead", "reason": "it is fast"}
    if take != "both":
        assert decision_on(repository, "two") == decision_on(repository, "one")
    assert list_conflicts_at(repository, list_branch_tips(repository, "conv-001")["one"])
    assert_sound(repository)


def test_a_value_of_neither_side_is_shown_and_not_applied_because_no_message_would_state_it(repository):
    resolved_before(repository, value="duckdb")
    stopped = merge(with_settings(repository, reuse="apply"), "conv-001", "fix", target="two")
    assert [each.values for each in stopped.conflicts[0].earlier] == [("duckdb",)]
    resolve_conflict(repository, "conv-001", "1", as_before=True, author=LEAD)
    continue_merge(repository, "conv-001")
    in_effect = [row.decision for row in decisions(repository, "conv-001/two").decisions if row.current]
    assert in_effect == ["duckdb"]


def test_sides_are_mapped_by_value_and_not_by_name(repository):
    resolved_before(repository, take="source", swapped=True)
    done = merge(with_settings(repository, reuse="apply"), "conv-001", "fix-old", target="two")
    assert done.conflicts[0].resolution.choice == "target"
    assert b'"pg"' in decision_on(repository, "two")


def test_another_base_and_other_spellings_are_the_same_question(repository):
    resolved_before(repository)
    branch(repository, "conv-001", name="x", start="main~2", switch=False)
    branch(repository, "conv-001", name="y", start="main~2", switch=False)
    decide(repository, "conv-001/x", "PG", topic="DB ")
    decide(repository, "conv-001/y", "my", topic="Db")
    (conflict,) = merge(repository, "conv-001", "x", target="y", dry_run=True).conflicts
    assert [each.choice for each in conflict.earlier] == ["target"]
    done = merge(with_settings(repository, reuse="apply"), "conv-001", "x", target="y")
    assert done.conflicts[0].resolution.reused.conflict != conflict.id


def test_a_base_that_the_conflict_does_not_have_is_a_value_of_neither_side(repository):
    resolved_before(repository, take="base")
    for name in ("x", "y"):
        branch(repository, "conv-001", name=name, start="main~2", switch=False)
    decide(repository, "conv-001/x", "pg")
    decide(repository, "conv-001/y", "my")
    done = merge(with_settings(repository, reuse="apply"), "conv-001", "x", target="y")
    assert isinstance(done, MergeConflicted)
    assert [each.values for each in done.conflicts[0].earlier] == [("sqlite",)]


@pytest.mark.parametrize(
    ("other", "value"), [("topic", "cache"), ("value", "neo4j")], ids=["another topic", "another value"]
)
def test_another_question_was_not_resolved_before(repository, other, value):
    resolved_before(repository)
    branch(repository, "conv-001", name="x", start="main~1", switch=False)
    branch(repository, "conv-001", name="y", start="main~1", switch=False)
    topic = value if other == "topic" else "db"
    decide(repository, "conv-001/x", "my", topic=topic)
    decide(repository, "conv-001/y", value if other == "value" else "pg", topic=topic)
    (conflict,) = merge(repository, "conv-001", "x", target="y").conflicts
    assert conflict.earlier == ()
    with pytest.raises(Refused, match="not resolved before"):
        resolve_conflict(repository, "conv-001", "1", as_before=True, author=CAROL)


def test_contradictory_resolutions_are_shown_newest_first_and_none_is_applied(repository):
    """M7."""
    resolved_before(repository)
    branch(repository, "conv-001", name="three", start="main", switch=False)
    merge(repository, "conv-001", "fix", target="three")
    resolve_conflict(repository, "conv-001", "1", take="target", reason="we know it", author=CAROL)
    continue_merge(repository, "conv-001")
    applying = with_settings(repository, reuse="apply")
    done = merge(applying, "conv-001", "fix", target="two")
    assert isinstance(done, MergeConflicted)
    earlier = done.conflicts[0].earlier
    assert [(each.actor, each.values) for each in earlier] == [("carol", ("pg",)), ("lead", ("my",))]
    with pytest.raises(Refused, match="in different ways"):
        resolve_conflict(applying, "conv-001", "1", as_before=True, author=CAROL)


def test_two_equal_resolutions_do_not_contradict_each_other(repository):
    resolved_before(repository)
    branch(repository, "conv-001", name="three", start="main", switch=False)
    merge(repository, "conv-001", "fix", target="three")
    resolve_conflict(repository, "conv-001", "1", value="MY", reason="", author=CAROL)
    continue_merge(repository, "conv-001")
    done = merge(with_settings(repository, reuse="apply"), "conv-001", "fix", target="two")
    assert done.conflicts[0].resolution.reused.actor == "carol"


def test_a_conflict_is_resolved_as_before_by_hand(repository):
    """M7."""
    resolved_before(repository)
    stopped = merge(repository, "conv-001", "fix", target="two")
    done = resolve_conflict(repository, "conv-001", "1", as_before=True, author=CAROL)
    resolution = done.conflict.resolution
    assert (resolution.strategy, resolution.choice, resolution.actor) == ("reused", "source", "carol")
    assert resolution.reused == (stopped.conflicts[0].id, "lead", "it is fast")
    continue_merge(repository, "conv-001")
    assert b'"my"' in decision_on(repository, "two")
    assert_sound(repository)


def test_the_record_of_a_conflict_that_is_opened_again_keeps_its_earlier_resolution(repository):
    fork(repository)
    branch(repository, "conv-001", name="later", start="main~1", switch=False)
    decide(repository, "conv-001/later", "my", author="zoe")
    merge(repository, "conv-001", "fix", target="main")
    resolve_conflict(repository, "conv-001", "1", take="target", reason="old", author=LEAD)
    continue_merge(repository, "conv-001")
    stopped = merge(repository, "conv-001", "later", target="main")
    (row,) = list_conflicts(repository, "conv-001").conflicts
    assert [each.reason for each in row.conflict.earlier] == ["old"]
    done = resolve_conflict(repository, "conv-001", "1", take="source", reason="new", author=CAROL)
    assert done.conflict.id == row.conflict.earlier[0].conflict == stopped.conflicts[0].id
    continue_merge(repository, "conv-001")
    (record,) = list_conflicts_at(repository, list_branch_tips(repository, "conv-001")["main"]).values()
    assert (record.resolution.reason, [each.reason for each in record.resolution.also]) == ("new", ["old"])
    branch(repository, "conv-001", name="third", start="fix~1", switch=False)
    decide(repository, "conv-001/third", "pg", author="zoe")
    (conflict,) = merge(repository, "conv-001", "third", target="main").conflicts
    assert [each.reason for each in conflict.earlier] == ["new", "old"]


@pytest.mark.parametrize(
    ("rule", "kind"), [("fail", None), ("skip", "scopes.merge.rule"), ("first", "scopes.merge.rule")]
)
def test_a_rule_comes_before_an_earlier_resolution(repository, rule, kind):
    """M7."""
    resolved_before(repository)
    ruled = with_settings(repository, reuse="apply", rule_decision_disagreement=rule)
    if kind is None:
        with pytest.raises(Refused, match="a rule forbids"):
            merge(ruled, "conv-001", "fix", target="two")
        return
    done = merge(ruled, "conv-001", "fix", target="two")
    assert done.conflicts[0].resolution.strategy == f"rule {rule}"


@pytest.mark.parametrize(("strategy", "expected"), [("ours", "ours"), ("theirs", "theirs"), ("manual", None)])
def test_another_strategy_than_automatic_comes_before_an_earlier_resolution(repository, strategy, expected):
    resolved_before(repository)
    options = MergeOptions(strategy=strategy)
    (conflict,) = merge(
        with_settings(repository, reuse="apply"), "conv-001", "fix", target="two", options=options
    ).conflicts
    assert (conflict.resolution and conflict.resolution.strategy) == expected


def test_nothing_is_shown_if_reuse_is_off(repository):
    resolved_before(repository)
    off = with_settings(repository, reuse="off")
    (conflict,) = merge(off, "conv-001", "fix", target="two").conflicts
    assert conflict.earlier == ()
    assert list_conflicts(off, "conv-001").conflicts[0].conflict.earlier == ()


def test_a_wrong_setting_is_refused(repository):
    resolved_before(repository)
    with pytest.raises(Invalid, match="reuse"):
        merge(with_settings(repository, reuse="always"), "conv-001", "fix", target="two")


@pytest.mark.parametrize("verb", ["rebase", "cherry-pick"])
def test_a_replay_shows_and_applies_what_was_resolved_before(repository, verb):
    """M7."""
    resolved_before(repository)

    def replay(store, **options):
        if verb == "rebase":
            return rebase(store, "conv-001", branch="fix", onto="two", **options)
        return cherry_pick(store, "conv-001", ["fix"], branch="two", **options)

    planned = replay(repository, dry_run=True)
    assert isinstance(planned, ReplayConflicted)
    assert planned.conflicts[0].earlier[0].actor == "lead"
    done = replay(with_settings(repository, reuse="apply"))
    assert isinstance(done, Replayed)
    assert done.conflicts[0].resolution.reused.actor == "lead"
    assert b'"my"' in decision_on(repository, done.moved_branch)
    assert_sound(repository)


@pytest.mark.parametrize(("source", "target"), [("fix", "two"), ("two", "fix")])
def test_an_applied_resolution_gives_the_same_state_in_both_directions(repository, source, target):
    resolved_before(repository)
    tips = list_branch_tips(repository, "conv-001")
    applying = with_settings(repository, reuse="apply")
    states = []
    for ours, theirs in ((source, target), (target, source)):
        branch(repository, "conv-001", name=f"copy-{ours}", start=tips[ours], switch=False)
        done = merge(applying, "conv-001", theirs, target=f"copy-{ours}")
        states.append(state_of(repository, done.tip))
    assert states[0] == states[1]


def test_the_history_is_walked_once_for_the_times_of_all_conflicts(repository, monkeypatch):
    """It was walked for each conflict, to the root if a notice was gone."""
    history(repository, "main: a", "fix@a:")
    for topic in ("db", "os", "ui"):
        decide(repository, "conv-001/main", "pg", topic=topic)
        decide(repository, "conv-001/fix", "my", topic=topic)
    for name in ("one", "two"):
        branch(repository, "conv-001", name=name, start="main", switch=False)
    merge(repository, "conv-001", "fix", target="one")
    for number in ("1", "2", "3"):
        resolve_conflict(repository, "conv-001", number, take="source", author=LEAD)
    continue_merge(repository, "conv-001")
    walks = []
    original = earlier_resolutions.walk_newest_first
    monkeypatch.setattr(earlier_resolutions, "walk_newest_first", lambda *args: walks.append(args) or original(*args))
    done = merge(repository, "conv-001", "fix", target="two")
    assert [len(each.earlier) for each in done.conflicts] == [1, 1, 1]
    assert all(each.time for conflict in done.conflicts for each in conflict.earlier)
    assert len(walks) == 1


def test_a_statement_after_the_earlier_resolution_makes_it_a_question_again(repository):
    """Main knows the resolution and states the value that it rejected."""
    resolved_before(repository)
    decide(repository, "conv-001/one", "pg")
    branch(repository, "conv-001", name="three", start="fix", switch=False)
    decide(repository, "conv-001/three", "my")
    done = merge(with_settings(repository, reuse="apply"), "conv-001", "three", target="one")
    assert isinstance(done, MergeConflicted)
    assert len(done.conflicts[0].earlier) == 1
