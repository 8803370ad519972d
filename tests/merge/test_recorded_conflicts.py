"""Records of conflicts outlive their merge: other branches hold them, merges merge them, and they can be shown."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.conflicts import escalate_conflict, list_conflicts, resolve_conflict, show_conflict
from scopes.conversation.merge import MergeConflicted, Merged, MergeOptions, abort_merge, continue_merge, merge
from scopes.errors import Conflicted, Refused
from scopes.history.names import list_branch_tips
from scopes.merge.compare import state_of
from scopes.merge.plan import list_conflicts_at
from scopes.model.message import Author
from scopes.store.objects import find_blob
from tests.support.history import history, say
from tests.support.store import assert_sound

CAROL = Author("carol")
RESOLUTION = "conv-001/conflict-resolution/fix-into-main"


def decide(repository, where, choice, *, author="carol", topic="db"):
    """Append a decision to a branch."""
    fields = {"kind": "decision", "decision": {"topic": topic, "decision": choice}}
    return say(repository, where, f"we use {choice}", author=author, **fields)


def decision_on(repository, name, topic="db"):
    """Return the blob of a decision in the state of a branch."""
    state = state_of(repository, list_branch_tips(repository, "conv-001")[name])
    return find_blob(repository, state, f"decisions/{topic}=")


def fork(repository, *, base="sqlite", main="pg", fix="my"):
    """Draw a decision on main and on fix, which disagree."""
    history(repository, "main: a")
    decide(repository, "conv-001/main", base)
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    decide(repository, "conv-001/main", main, author="alice")
    decide(repository, "conv-001/fix", fix, author="dave")


def fork_in_conflict(repository):
    fork(repository)
    return merge(repository, "conv-001", "fix", target="main")


@pytest.mark.parametrize("end", ["resolve", "abort"])
def test_a_branch_started_at_an_open_conflict_can_be_merged_in_the_end(repository, end):
    """M1: such a branch was a dead end, no command resolved its copy of the conflict."""
    stopped = fork_in_conflict(repository)
    branch(repository, "conv-001", name="talk", start=stopped.branch, switch=False)
    say(repository, "conv-001/talk", "an analysis")
    if end == "resolve":
        resolve_conflict(repository, "conv-001", "1", take="source", author=CAROL)
        continue_merge(repository, "conv-001")
    else:
        abort_merge(repository, "conv-001")
        with pytest.raises(Conflicted):
            merge(repository, "conv-001", "talk", target="main")
        (row,) = list_conflicts(repository, "conv-001").conflicts
        assert (row.branch, row.kind) == ("talk", "branch")
        resolve_conflict(repository, "conv-001", row.conflict.id, take="source", author=CAROL)
        assert b'"my"' in decision_on(repository, "talk")
    merge(repository, "conv-001", "talk", target="main")
    assert b'"my"' in decision_on(repository, "main")
    assert not list_conflicts(repository, "conv-001").conflicts
    assert_sound(repository)


@pytest.mark.parametrize(("take", "expected"), [("target", "pg"), ("source", "my"), ("base", "sqlite")])
def test_taking_a_side_writes_its_value_whatever_was_decided_on_the_resolution_branch(repository, take, expected):
    """M2: "target" kept the third value and recorded "took target"."""
    fork_in_conflict(repository)
    decide(repository, RESOLUTION, "neo4j")
    resolve_conflict(repository, "conv-001", "1", take=take, author=CAROL)
    continue_merge(repository, "conv-001")
    assert f'"{expected}"'.encode() in decision_on(repository, "main")


def test_taking_a_side_drops_the_claims_that_other_agents_made_on_the_resolution_branch(repository):
    """M2, for keys on which each agent has a claim."""
    history(repository, "main: a")
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    finding = {"subject": "s", "aspect": "risk", "confidence": 0.5}
    for name, value, agent in (("main", "low", "alice"), ("fix", "high", "dave")):
        say(repository, f"conv-001/{name}", "x", author=agent, kind="analysis", analysis={**finding, "finding": value})
    merge(repository, "conv-001", "fix", target="main")
    say(repository, RESOLUTION, "x", author="zoe", kind="analysis", analysis={**finding, "finding": "none"})
    resolve_conflict(repository, "conv-001", "1", take="source", author=CAROL)
    state = state_of(repository, list_branch_tips(repository, "conv-001")[RESOLUTION.partition("/")[2]])
    assert find_blob(repository, state, "analyses/s/risk/dave=") is not None
    assert find_blob(repository, state, "analyses/s/risk/zoe=") is None
    assert find_blob(repository, state, "analyses/s/risk/alice=") is None


def fork_resolved_twice(repository, *takes):
    """Let two branches merge main and fix, and resolve their conflict with `takes`: (target, take, reason, actor)."""
    fork(repository)
    for name in ("one", "two"):
        branch(repository, "conv-001", name=name, start="main", switch=False)
    for name, take, reason, actor in takes:
        merge(repository, "conv-001", "fix", target=name)
        resolve_conflict(repository, "conv-001", "1", take=take, reason=reason, author=Author(actor))
        continue_merge(repository, "conv-001")


@pytest.mark.parametrize(("source", "target"), [("one", "two"), ("two", "one")])
def test_equal_resolutions_on_both_sides_are_no_conflict(repository, source, target):
    """M3: they stopped with `add-add conflicts/<id>`."""
    takes = ("one", "source", "it is fast", "carol"), ("two", "source", "we know it", "dave")
    fork_resolved_twice(repository, *takes)
    assert isinstance(merge(repository, "conv-001", source, target=target), Merged)
    (record,) = list_conflicts_at(repository, list_branch_tips(repository, "conv-001")[target]).values()
    assert record.resolution.reason in {"it is fast", "we know it"}


def test_equal_resolutions_merge_to_the_same_record_in_both_directions(repository):
    takes = ("one", "source", "it is fast", "carol"), ("two", "source", "we know it", "dave")
    fork_resolved_twice(repository, *takes)
    states = []
    for source, target in (("one", "two"), ("two", "one")):
        branch(repository, "conv-001", name=f"{target}-merged", start=target, switch=False)
        done = merge(repository, "conv-001", source, target=f"{target}-merged")
        states.append(state_of(repository, done.tip))
    assert states[0] == states[1]


def test_different_resolutions_on_both_sides_are_a_conflict_about_the_key_alone(repository):
    fork_resolved_twice(repository, ("one", "source", "", "carol"), ("two", "target", "", "dave"))
    done = merge(repository, "conv-001", "one", target="two")
    assert isinstance(done, MergeConflicted)
    assert [(each.type, each.key) for each in done.conflicts] == [("decision-disagreement", "decisions/db")]
    resolve_conflict(repository, "conv-001", "1", take="source", author=CAROL)
    continue_merge(repository, "conv-001")
    assert b'"my"' in decision_on(repository, "two")


def test_a_conflict_can_be_shown_after_its_merge_has_continued(repository):
    """M15, S4-56, S4-57."""
    stopped = fork_in_conflict(repository)
    identity = stopped.conflicts[0].id
    escalate_conflict(repository, "conv-001", "1", to="lead", author=CAROL)
    resolve_conflict(repository, "conv-001", "1", take="source", reason="fast", author=CAROL)
    continue_merge(repository, "conv-001")
    assert not list_conflicts(repository, "conv-001").conflicts
    (row,) = list_conflicts(repository, "conv-001", include_all=True).conflicts
    assert (row.conflict.id, row.conflict.status) == (identity, "resolved")
    assert (row.source, row.target, row.branch) == ("fix", "main", "main")
    view = show_conflict(repository, "conv-001", identity[:8])
    assert view.row.conflict.resolution.reason == "fast"
    assert view.escalated_to == "lead"
    with pytest.raises(Refused, match="resolved already"):
        resolve_conflict(repository, "conv-001", identity, take="target", author=CAROL)


@pytest.mark.parametrize("strategy", ["ours", "theirs"])
def test_a_conflict_that_a_strategy_resolved_can_be_shown(repository, strategy):
    """M15."""
    fork(repository)
    done = merge(repository, "conv-001", "fix", target="main", options=MergeOptions(strategy=strategy))
    view = show_conflict(repository, "conv-001", done.conflicts[0].id)
    assert view.row.conflict.resolution.strategy == strategy
    assert [position.value for position in view.row.conflict.source] == ["my"]
    (row,) = list_conflicts(repository, "conv-001", status="resolved").conflicts
    assert row.target == "main"


def test_the_list_names_the_sides_of_an_aborted_merge(repository):
    fork_in_conflict(repository)
    abort_merge(repository, "conv-001")
    (row,) = list_conflicts(repository, "conv-001", include_all=True).conflicts
    assert (row.source, row.target, row.conflict.status) == ("fix", "main", "aborted")
