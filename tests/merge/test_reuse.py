"""Conflicts that were resolved before: the earlier resolution is shown, and repeated by hand (M7)."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.conflicts import list_conflicts, resolve_conflict, show_conflict
from scopes.conversation.decisions import decisions
from scopes.conversation.merge import MergeConflicted, continue_merge, merge
from scopes.conversation.rebase import ReplayConflicted, cherry_pick, rebase
from scopes.errors import Refused
from scopes.merge import resolve as earlier_resolutions
from scopes.model.message import Author
from tests.merge.test_recorded_conflicts import decide, decision_on, fork
from tests.support.history import history
from tests.support.store import assert_sound

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


def test_a_value_of_neither_side_is_taken_as_before(repository):
    resolved_before(repository, value="duckdb")
    stopped = merge(repository, "conv-001", "fix", target="two")
    assert [each.values for each in stopped.conflicts[0].earlier] == [("duckdb",)]
    resolve_conflict(repository, "conv-001", "1", as_before=True, author=LEAD)
    continue_merge(repository, "conv-001")
    in_effect = [row.decision for row in decisions(repository, "conv-001/two").decisions if row.current]
    assert in_effect == ["duckdb"]


def test_sides_are_mapped_by_value_and_not_by_name(repository):
    resolved_before(repository, take="source", swapped=True)
    done = merge(repository, "conv-001", "fix-old", target="two")
    assert [each.choice for each in done.conflicts[0].earlier] == ["target"]


def test_another_base_and_other_spellings_are_the_same_question(repository):
    resolved_before(repository)
    branch(repository, "conv-001", name="x", start="main~2", switch=False)
    branch(repository, "conv-001", name="y", start="main~2", switch=False)
    decide(repository, "conv-001/x", "PG", topic="DB ")
    decide(repository, "conv-001/y", "my", topic="Db")
    (conflict,) = merge(repository, "conv-001", "x", target="y", dry_run=True).conflicts
    assert [each.choice for each in conflict.earlier] == ["target"]


def test_a_base_that_the_conflict_does_not_have_is_a_value_of_neither_side(repository):
    resolved_before(repository, take="base")
    for name in ("x", "y"):
        branch(repository, "conv-001", name=name, start="main~2", switch=False)
    decide(repository, "conv-001/x", "pg")
    decide(repository, "conv-001/y", "my")
    done = merge(repository, "conv-001", "x", target="y")
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


def test_contradictory_resolutions_are_shown_newest_first(repository):
    """M7."""
    resolved_before(repository)
    branch(repository, "conv-001", name="three", start="main", switch=False)
    merge(repository, "conv-001", "fix", target="three")
    resolve_conflict(repository, "conv-001", "1", take="target", reason="we know it", author=CAROL)
    continue_merge(repository, "conv-001")
    done = merge(repository, "conv-001", "fix", target="two")
    assert isinstance(done, MergeConflicted)
    earlier = done.conflicts[0].earlier
    assert [(each.actor, each.values) for each in earlier] == [("carol", ("pg",)), ("lead", ("my",))]
    with pytest.raises(Refused, match="in different ways"):
        resolve_conflict(repository, "conv-001", "1", as_before=True, author=CAROL)


def test_two_equal_resolutions_do_not_contradict_each_other(repository):
    resolved_before(repository)
    branch(repository, "conv-001", name="three", start="main", switch=False)
    merge(repository, "conv-001", "fix", target="three")
    resolve_conflict(repository, "conv-001", "1", value="MY", reason="", author=CAROL)
    continue_merge(repository, "conv-001")
    done = merge(repository, "conv-001", "fix", target="two")
    assert [each.actor for each in done.conflicts[0].earlier] == ["carol"]


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
    branch(repository, "conv-001", name="third", start="fix~1", switch=False)
    decide(repository, "conv-001/third", "pg", author="zoe")
    (conflict,) = merge(repository, "conv-001", "third", target="main").conflicts
    assert [each.reason for each in conflict.earlier] == ["new", "old"]


@pytest.mark.parametrize("verb", ["rebase", "cherry-pick"])
def test_a_replay_shows_what_was_resolved_before(repository, verb):
    """M7."""
    resolved_before(repository)

    def replay(store, **options):
        if verb == "rebase":
            return rebase(store, "conv-001", branch="fix", onto="two", **options)
        return cherry_pick(store, "conv-001", ["fix"], branch="two", **options)

    planned = replay(repository, dry_run=True)
    assert isinstance(planned, ReplayConflicted)
    assert planned.conflicts[0].earlier[0].actor == "lead"


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
