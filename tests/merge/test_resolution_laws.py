"""Properties of merges and resolutions, on drawn histories with decisions, amendments, retractions and renames."""

from __future__ import annotations

import os
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.conversation.append import amend, retract
from scopes.conversation.branch import branch
from scopes.conversation.conflicts import list_conflicts, resolve_conflict, show_conflict
from scopes.conversation.decisions import withdraw_decision
from scopes.conversation.merge import MergeConflicted, UpToDate, continue_merge, merge
from scopes.conversation.new_rename_delete import rename_branch
from scopes.conversation.rebase import ReplayConflicted, continue_rebase, rebase
from scopes.errors import Invalid, NotFound
from scopes.history.names import list_branch_tips
from scopes.merge.compare import state_of
from scopes.model import canonical_json
from scopes.model.message import Author, folded
from scopes.store.objects import read_blob, walk_blobs
from tests.support.decisions import decide
from tests.support.examples import examples
from tests.support.history import history
from tests.support.store import FAST, assert_sound, make_store

JUDGE = Author("judge")
SPELLINGS = ("db", "DB", "cache")
laws = settings(max_examples=examples(40), deadline=None)
actions = st.sampled_from(["decide", "decide", "decide", "retract", "amend", "withdraw"])
steps = st.tuples(actions, st.sampled_from(SPELLINGS), st.sampled_from(["x", "y", "z"]))
lines = st.lists(steps, max_size=4)
takes = st.sampled_from(["source", "target", "base"])


def open_drawn(directory, below, on_main, on_fix, *, with_earlier=False):
    """Make a store in which main and fix diverged; return it, and the topics that each of them stated last.

    With `with_earlier`, another pair of branches has disagreed before, and its conflicts were resolved.
    """
    repository = make_store(os.path.join(directory, "store.git"), FAST)
    history(repository, "main: a")
    follow(repository, "main", below)
    for name in ("fix", "old-main", "old-fix"):
        branch(repository, "conv-001", name=name, start="main", switch=False)
    if with_earlier:
        follow(repository, "old-main", on_main)
        follow(repository, "old-fix", on_fix)
        finish(repository, merge(repository, "conv-001", "old-fix", target="old-main"), "source")
    stated = {name: follow(repository, name, line) for name, line in (("main", on_main), ("fix", on_fix))}
    return repository, stated


def follow(repository, name, line):
    """Append the messages of a line to a branch; return the topics whose last statement there is in force."""
    stated, decided = set(), []
    for action, topic, value in line:
        key = folded(topic)
        if action == "decide":
            decided.append((decide(repository, f"conv-001/{name}", value, topic=topic, author=name).id, key))
            stated.add(key)
        elif action == "withdraw":
            stated.discard(key)
            try:
                withdraw_decision(repository, "conv-001", topic, author=JUDGE, branch=name)
            except NotFound:
                continue
        elif decided:
            message, old = decided.pop()
            stated.discard(old)
            if action == "retract":
                retract(repository, "conv-001", message, "", author=JUDGE, branch=name)
            else:
                data = {"topic": topic, "decision": value, "reasoning": ""}
                amend(repository, "conv-001", message, "x", author=JUDGE, branch=name, data=data)
                stated.discard(key)
    return stated


def finish(repository, outcome, take):
    """Resolve every open conflict with a side, and continue to the end; return the first conflicts with their outcome."""
    found = []
    while isinstance(outcome, MergeConflicted | ReplayConflicted):
        for row in list_conflicts(repository, "conv-001").conflicts:
            if take == "base" and not row.conflict.base:
                with pytest.raises(Invalid):
                    resolve_conflict(repository, "conv-001", row.conflict.id, take=take, author=JUDGE)
                side = "target"
            else:
                side = take
            done = resolve_conflict(repository, "conv-001", row.conflict.id, take=side, author=JUDGE)
            found.append(done.conflict)
        resume = continue_merge if isinstance(outcome, MergeConflicted) else continue_rebase
        outcome = resume(repository, "conv-001")
    return found


def decisions_of(repository, name):
    """Return the decisions in the state of a branch, by comparable topic; each has one claim."""
    state = state_of(repository, list_branch_tips(repository, "conv-001")[name])
    blobs = [] if state is None else walk_blobs(repository, state)
    claims = [(path.removesuffix("=").split("/"), oid) for path, oid in blobs if path.startswith("decisions/")]
    found = {folded(names[1]): canonical_json.load(read_blob(repository, oid))["decision"] for names, oid in claims}
    assert len(found) == len(claims)
    return found


@laws
@given(lines, lines, lines, takes, st.booleans(), st.booleans())
def test_no_merge_is_a_dead_end_and_the_side_taken_is_the_value(below, on_main, on_fix, take, renamed, earlier):
    """Any merge ends, also if its branches are renamed meanwhile; then the source is merged and nothing is open."""
    with tempfile.TemporaryDirectory() as directory:
        repository, _ = open_drawn(directory, below, on_main, on_fix, with_earlier=earlier)
        outcome = merge(repository, "conv-001", "fix", target="main")
        if renamed:
            rename_branch(repository, "conv-001", "fix", "repair")
        resolved = finish(repository, outcome, take)
        source = "repair" if renamed else "fix"
        assert isinstance(merge(repository, "conv-001", source, target="main"), UpToDate)
        assert not list_conflicts(repository, "conv-001").conflicts
        after = decisions_of(repository, "main")
        for conflict in resolved:
            topic = folded(conflict.key.partition("/")[2])
            if conflict.key.startswith("decisions/"):
                side = take if take != "base" or conflict.base else "target"
                expected = [position.value for position in getattr(conflict, side)]
                assert [after[topic]] == expected if topic in after else expected == []
        assert_rows_can_be_shown(repository)
        assert_sound(repository)


def assert_rows_can_be_shown(repository):
    """Assert that a number shows its row, and an id the first row of its conflict."""
    first = {}
    for row in list_conflicts(repository, "conv-001", include_all=True).conflicts:
        assert show_conflict(repository, "conv-001", str(row.number)).row == row
        shown = first.setdefault(row.conflict.id, row)
        assert show_conflict(repository, "conv-001", row.conflict.id).row == shown


def test_an_id_shows_the_first_resolution_of_a_conflict_that_an_earlier_merge_had_too(tmp_path):
    stated = [("decide", "db", "x")], [("decide", "db", "y")]
    repository, _ = open_drawn(tmp_path, [], *stated, with_earlier=True)
    finish(repository, merge(repository, "conv-001", "fix", target="main"), "source")
    assert len(list_conflicts(repository, "conv-001", include_all=True).conflicts) == 1
    assert_rows_can_be_shown(repository)


@laws
@given(lines, lines, lines, st.booleans())
def test_no_statement_is_overwritten_in_silence_and_equal_outcomes_never_conflict(below, on_main, on_fix, earlier):
    with tempfile.TemporaryDirectory() as directory:
        repository, stated = open_drawn(directory, below, on_main, on_fix, with_earlier=earlier)
        sides = [decisions_of(repository, name) for name in ("main", "fix")]
        outcome = merge(repository, "conv-001", "fix", target="main", dry_run=True)
        keys = [each.key for each in outcome.conflicts if each.key.startswith("decisions/")]
        found = {folded(key.partition("/")[2]) for key in keys}
        values = {topic: [side.get(topic) for side in sides] for topic in ("db", "cache")}
        assert {topic for topic in found if values[topic][0] == values[topic][1]} == set()
        both = stated["main"] & stated["fix"]
        assert {topic for topic in both if values[topic][0] != values[topic][1]} <= found


@laws
@given(lines, lines, lines, st.booleans())
def test_the_direction_of_a_merge_does_not_change_the_decisions(below, on_main, on_fix, earlier):
    outcomes = []
    for source, target, take in (("fix", "main", "source"), ("main", "fix", "target")):
        with tempfile.TemporaryDirectory() as directory:
            repository, _ = open_drawn(directory, below, on_main, on_fix, with_earlier=earlier)
            outcome = merge(repository, "conv-001", source, target=target)
            kinds = sorted((each.type, each.key, each.status) for each in outcome.conflicts)
            finish(repository, outcome, take)
            outcomes.append((kinds, decisions_of(repository, target)))
    assert outcomes[0] == outcomes[1]


@laws
@given(lines, lines, lines)
def test_a_rebase_that_takes_its_own_side_ends_with_the_decisions_of_the_branch(below, on_main, on_fix):
    with tempfile.TemporaryDirectory() as directory:
        repository, stated = open_drawn(directory, below, on_main, on_fix)
        before = decisions_of(repository, "fix")
        finish(repository, rebase(repository, "conv-001", branch="fix", onto="main"), "source")
        after = decisions_of(repository, "fix")
        assert {topic: after.get(topic) for topic in stated["fix"]} == {
            topic: before.get(topic) for topic in stated["fix"]
        }
        assert not list_conflicts(repository, "conv-001").conflicts
        assert_sound(repository)
