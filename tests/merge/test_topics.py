"""One topic in several spellings, and claims that are stated again, in appends, merges and replays alike (M4, M9)."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.decisions import decisions
from scopes.conversation.merge import MergeConflicted, Merged, continue_merge, merge
from scopes.conversation.rebase import (
    ReplayConflicted,
    Replayed,
    cherry_pick,
    continue_cherry_pick,
    continue_rebase,
    rebase,
)
from scopes.history.names import list_branch_tips
from scopes.merge.compare import state_of
from scopes.model.message import Author
from scopes.store.objects import walk_blobs
from tests.merge.test_recorded_conflicts import decide, decision_on, fork
from tests.support.history import history, say
from tests.support.store import assert_sound

CAROL = Author("carol")
JOINING = ("merge", "rebase", "cherry-pick")
every_joining = pytest.mark.parametrize("verb", JOINING)


def join(repository, verb):
    """Bring fix and main together; return the outcome and the branch that has the result."""
    if verb == "merge":
        return merge(repository, "conv-001", "fix", target="main"), "main"
    if verb == "rebase":
        return rebase(repository, "conv-001", branch="fix", onto="main"), "fix"
    return cherry_pick(repository, "conv-001", ["fix"], branch="main"), "main"


def go_on(repository, verb):
    resume = {"merge": continue_merge, "rebase": continue_rebase, "cherry-pick": continue_cherry_pick}[verb]
    return resume(repository, "conv-001")


def claims(repository, name):
    """Return the decisions in the state of a branch: claim by path."""
    state = state_of(repository, list_branch_tips(repository, "conv-001")[name])
    blobs = dict(walk_blobs(repository, state))
    return sorted(path for path in blobs if path.startswith("decisions/"))


def current(repository, name):
    return [row.decision for row in decisions(repository, f"conv-001/{name}").decisions if row.current]


@every_joining
@pytest.mark.parametrize("restating", ["main", "fix"])
def test_a_decision_made_again_after_the_base_disagrees_with_another_one(repository, verb, restating):
    """M4: replays overwrote the reaffirmed decision without a word."""
    values = {"main": "my", "fix": "my", restating: "sqlite"}
    fork(repository, base="sqlite", **values)
    done, _ = join(repository, verb)
    assert isinstance(done, MergeConflicted | ReplayConflicted)
    (conflict,) = done.conflicts
    assert [[each.value for each in side] for side in (conflict.target, conflict.source)] == [
        [values["main"]],
        [values["fix"]],
    ]
    assert [conflict.target[0].agent, conflict.source[0].agent] == ["alice", "dave"]


@every_joining
@pytest.mark.parametrize(("take", "expected"), [("source", "my"), ("target", "sqlite")])
def test_either_side_of_a_decision_made_again_can_be_taken(repository, verb, take, expected):
    fork(repository, base="sqlite", main="sqlite", fix="my")
    _, name = join(repository, verb)
    resolve_conflict(repository, "conv-001", "1", take=take, author=CAROL)
    go_on(repository, verb)
    assert current(repository, name)[-1:] == [expected]
    assert_sound(repository)


@every_joining
def test_a_decision_that_both_sides_made_again_is_no_conflict(repository, verb):
    fork(repository, base="sqlite", main="sqlite", fix="sqlite")
    done, _ = join(repository, verb)
    assert isinstance(done, Merged | Replayed)


def test_later_decisions_of_a_rebased_branch_do_not_disagree_with_its_own_or_with_the_resolution(repository):
    fork(repository)
    for word in ("my", "neo4j", "neo4j", "duckdb"):
        decide(repository, "conv-001/fix", word, author="dave")
    rebase(repository, "conv-001", branch="fix", onto="main")
    resolve_conflict(repository, "conv-001", "1", take="source", author=CAROL)
    assert isinstance(continue_rebase(repository, "conv-001"), Replayed)
    assert b'"duckdb"' in decision_on(repository, "fix")


def test_a_picked_message_and_its_picked_parent_do_not_disagree(repository):
    fork(repository, base="sqlite", main="sqlite", fix="my")
    branch(repository, "conv-001", name="copy", start="main~1", switch=False)
    decide(repository, "conv-001/fix", "neo4j", author="dave")
    assert isinstance(cherry_pick(repository, "conv-001", ["fix~1", "fix"], branch="copy"), Replayed)


@every_joining
@pytest.mark.parametrize("take", ["source", "target"])
@pytest.mark.parametrize("base", [None, "database", "DATABASE"])
def test_two_spellings_are_one_key(repository, verb, take, base):
    """M9: replays did not compare spellings, and a second claim was left."""
    history(repository, "main: a")
    if base is not None:
        decide(repository, "conv-001/main", "sqlite", topic=base)
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    decide(repository, "conv-001/main", "pg", topic="database")
    decide(repository, "conv-001/fix", "my", topic="Database")
    done, name = join(repository, verb)
    assert [each.type for each in done.conflicts] == ["decision-disagreement"]
    resolve_conflict(repository, "conv-001", "1", take=take, author=CAROL)
    go_on(repository, verb)
    assert claims(repository, name) == ["decisions/database="]
    assert_sound(repository)


@every_joining
def test_a_value_for_two_spellings_leaves_one_claim(repository, verb):
    history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "pg", topic="DATABASE")
    decide(repository, "conv-001/fix", "my", topic="Database")
    _, name = join(repository, verb)
    resolve_conflict(repository, "conv-001", "1", value="duckdb", author=CAROL)
    go_on(repository, verb)
    assert len(claims(repository, name)) == 1
    assert decisions(repository, f"conv-001/{name}").decisions[-1].topic in {"DATABASE", "Database"}


@every_joining
def test_equal_decisions_in_two_spellings_are_no_conflict_and_leave_one_claim(repository, verb):
    history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "pg", topic="database")
    decide(repository, "conv-001/fix", "pg", topic="Database")
    done, name = join(repository, verb)
    assert isinstance(done, Merged | Replayed)
    assert claims(repository, name) == ["decisions/database="]


@pytest.mark.parametrize("topics", [("Database", "database "), ("database", "DATABASE", "Database")])
def test_both_spellings_on_one_branch_are_one_topic_and_the_latest_decision_counts(repository, topics):
    """M9: both were in effect."""
    history(repository, "main: a")
    for number, topic in enumerate(topics):
        decide(repository, "conv-001/main", f"choice {number}", topic=topic)
    assert current(repository, "main") == [f"choice {len(topics) - 1}"]
    assert len(claims(repository, "main")) == 1


def test_a_finding_in_another_spelling_replaces_only_that_of_the_same_agent(repository):
    history(repository, "main: a")
    for agent, subject in (("alice", "Login"), ("bob", "login"), ("alice", "login ")):
        analysis = {"subject": subject, "aspect": "risk", "confidence": 0.5, "finding": agent}
        say(repository, "conv-001/main", "x", author=agent, kind="analysis", analysis=analysis)
    state = state_of(repository, list_branch_tips(repository, "conv-001")["main"])
    paths = [path for path, _ in walk_blobs(repository, state) if path.startswith("analyses/")]
    assert sorted(paths) == ["analyses/login/risk/alice=", "analyses/login/risk/bob="]


@every_joining
def test_a_decision_that_was_equal_before_is_not_overwritten_in_silence(repository, verb):
    """The branch decided the same as main, and something else afterwards."""
    fork(repository, base="sqlite", main="pg", fix="pg")
    decide(repository, "conv-001/fix", "neo4j", author="dave")
    if verb == "cherry-pick":
        done = cherry_pick(repository, "conv-001", ["fix~1", "fix"], branch="main")
    else:
        done, _ = join(repository, verb)
    assert isinstance(done, MergeConflicted | ReplayConflicted)
    values = [[each.value for each in side] for side in (done.conflicts[0].target, done.conflicts[0].source)]
    assert values == [["pg"], ["neo4j"]]


def test_a_rebase_writes_the_value_of_its_side_in_its_own_spelling(repository):
    """It was written in the spelling of the other side, and the next message conflicted with that."""
    history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "y")
    for topic, value in (("db", "y"), ("DB", "x"), ("db", "y")):
        decide(repository, "conv-001/fix", value, topic=topic)
    rebase(repository, "conv-001", branch="fix", onto="main")
    resolve_conflict(repository, "conv-001", "1", take="source", author=CAROL)
    assert isinstance(continue_rebase(repository, "conv-001"), Replayed)
    assert b'"y"' in decision_on(repository, "fix")
