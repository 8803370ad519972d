"""A replay compares only the keys that a message changed with its new base."""

from __future__ import annotations

import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.conversation.append import retract
from scopes.conversation.branch import branch
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.merge import merge
from scopes.conversation.rebase import Replayed, cherry_pick, rebase
from scopes.history.names import list_branch_tips
from scopes.merge.compare import changes_by_key, changes_on, state_of
from scopes.merge.keys import group_of
from scopes.merge.replay import ReplayTarget, divergence_of, rewrite_commits
from scopes.merge.resolve import Policy
from scopes.model.message import MESSAGES, Author
from scopes.store.objects import read_commit, update_tree
from tests.support.decisions import decide, decided
from tests.support.examples import examples
from tests.support.history import history, say
from tests.support.store import make_store

PATHS = st.sampled_from([
    "decisions/auth=", "decisions/database=", "messages/aaaa=", "messages/bbbb=", "files/src=", "files/src/a.py=",
    "proposals/service/auth/timeout/carol=", "proposals/service/auth/timeout/dave=", "entities/service/auth/timeout=",
    "analyses/auth/speed/carol=", "analyses/auth/speed/dave=", "priorities/ship/carol=", "conflicts/0123=", "priorities=",
])  # fmt: skip
STATES = st.dictionaries(PATHS, st.sampled_from([b"1", b"2"]), max_size=8)


@settings(max_examples=examples(60), deadline=None)
@given(before=STATES, after=STATES, data=st.data())
def test_changes_on_some_keys_are_a_subset_of_all_changes(before, after, data):
    with tempfile.TemporaryDirectory() as directory:
        repository = make_store(f"{directory}/store.git")
        old, new = (update_tree(repository, None, state) for state in (before, after))
        everything = changes_by_key(repository, old, new)
        keys = data.draw(st.sets(st.sampled_from(sorted(everything)))) if everything else set()
        part = changes_on(repository, old, new, keys)
        assert part == {k: moves for k, moves in everything.items() if k in keys or group_of(k) == MESSAGES}


def test_only_the_keys_of_the_replayed_commit_are_compared(repository):
    drawn = history(repository, "main: a", "fix@a: b")
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/main", "postgres", topic="database")
    decide(repository, "conv-001/fix", "sessions")
    tips = list_branch_tips(repository, drawn.conversation)
    divergence = divergence_of(repository, tips["main"], read_commit(repository, tips["fix"]))
    assert list(divergence.target.changes) == list(divergence.source.changes) == ["decisions/auth"]


def test_a_replay_stops_at_the_first_conflict_and_lists_the_rest(repository):
    drawn = history(repository, "main: a", "fix@a: b")
    decide(repository, "conv-001/main", "jwt")
    decided = decide(repository, "conv-001/fix", "sessions")
    after = say(repository, "conv-001/fix", "c")
    commits = [read_commit(repository, oid) for oid in (drawn.oids["b"], decided.oid, after.oid)]
    onto = list_branch_tips(repository, drawn.conversation)["main"]
    line = rewrite_commits(repository, ReplayTarget(onto, [read_commit(repository, onto)]), commits, Policy())
    assert [moved.id for moved in line.moved] == [drawn.ids["b"]]
    assert (line.stop.id, line.stop.parent, line.todo) == (decided.id, line.tip, (after.oid,))
    assert read_commit(repository, line.stop.new).parents == (line.tip,)
    assert [conflict.status for conflict in line.conflicts] == ["open"]


def test_messages_already_on_the_new_base_keep_their_commits(repository):
    drawn = history(repository, "main: a b c")
    commits = [read_commit(repository, drawn.oids[word]) for word in "bc"]
    line = rewrite_commits(repository, ReplayTarget(drawn.oids["a"], []), commits, Policy())
    assert [(moved.old, moved.new) for moved in line.moved] == [(commit.oid, commit.oid) for commit in commits]


def test_a_key_with_an_open_conflict_keeps_the_value_of_the_new_base(repository):
    history(repository, "main: a", "fix@a:")
    onto = decide(repository, "conv-001/main", "jwt").oid
    commit = read_commit(repository, decide(repository, "conv-001/fix", "sessions").oid)
    line = rewrite_commits(repository, ReplayTarget(onto, [read_commit(repository, onto)]), [commit], Policy())
    changed = changes_by_key(repository, state_of(repository, onto), state_of(repository, line.stop.new))
    assert [group_of(key) for key in changed] == ["conflicts"]


@pytest.mark.parametrize("verb", ["merge", "rebase", "cherry-pick"])
def test_a_decision_that_was_retracted_on_the_new_base_conflicts_with_one_made_again(repository, verb):
    """M5: a replay stated the retracted decision again without a word."""
    history(repository, "main: a")
    made = decide(repository, "conv-001/main", "pg")
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    retract(repository, "conv-001", made.id, "wrong", author=Author("carol"), branch="main")
    decide(repository, "conv-001/fix", "pg", author="dave")
    if verb == "merge":
        done = merge(repository, "conv-001", "fix", target="main")
    elif verb == "rebase":
        done = rebase(repository, "conv-001", branch="fix", onto="main")
    else:
        done = cherry_pick(repository, "conv-001", ["fix"], branch="main")
    assert [(each.key, each.status) for each in done.conflicts] == [("decisions/auth", "open")]


def test_a_retracted_decision_that_was_confirmed_is_not_asked_about_again(repository):
    """Two messages of the branch made the decision again; after the resolution the second one states nothing new."""
    history(repository, "main: a")
    made = decide(repository, "conv-001/main", "pg")
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    retract(repository, "conv-001", made.id, "wrong", author=Author("carol"), branch="main")
    decide(repository, "conv-001/fix", "pg", author="dave")
    decide(repository, "conv-001/fix", "pg", author="dave")
    rebase(repository, "conv-001", branch="fix", onto="main")
    done = resolve_conflict(repository, "conv-001", "1", take="target", author=Author("carol"), continue_after=True)
    assert isinstance(done.continued, Replayed)
    assert decided(repository, "conv-001/fix") == []
