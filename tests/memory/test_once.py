"""Every message is in exactly one entry, however histories branch, merge and are rewritten."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.conversation.append import amend, retract
from scopes.conversation.branch import branch, rewind
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import new
from scopes.conversation.rebase import cherry_pick, rebase
from scopes.history.handles import resolve_scope, walk_messages
from scopes.memory.list import list_memory
from scopes.memory.prune import prune
from scopes.memory.source_messages import read_source_messages
from scopes.memory.update import update
from scopes.model.message import Author
from tests.memory.talking import CONVERSATION, say
from tests.support.examples import examples
from tests.support.history import history
from tests.support.store import make_store

STEPS = st.lists(
    st.tuples(st.sampled_from(["say", "branch", "update", "update-branch", "now"]), st.integers(0, 3)),
    min_size=3,
    max_size=14,
)


def remembered(repository):
    """Return the source messages of all entries, with repetitions."""
    return [source for entry in list_memory(repository).entries for source in entry.sources.messages]


def all_sources(repository):
    """Return the ids of all source messages of the conversation."""
    return {
        each.head.id
        for each in read_source_messages(
            repository, [head for head, _ in walk_messages(repository, resolve_scope(repository, CONVERSATION))]
        )
    }


@given(STEPS)
@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_message_is_in_exactly_one_entry(tmp_path_factory, spread_ids, steps):
    """S0-10."""
    repository = fresh(tmp_path_factory)
    branches = ["main"]
    for number, (step, which) in enumerate(steps):
        place = branches[which % len(branches)]
        if step == "say":
            say(repository, f"Message number {number} about cookies.", branch=place)
        elif step == "branch":
            branch(repository, CONVERSATION, name=f"b{number}", start=place)
            branches.append(f"b{number}")
        else:
            where = f"{CONVERSATION}/{place}" if step == "update-branch" else None
            update(repository, where, at_once=step == "now")
    update(repository, at_once=True)
    covered = remembered(repository)
    assert len(covered) == len(set(covered))
    assert set(covered) == all_sources(repository)


def fresh(tmp_path_factory):
    """Make a store with an empty conversation."""
    made = make_store(tmp_path_factory.mktemp("once") / "store.git")
    new(made)
    return made


def test_a_merge_adds_no_message_twice(repository):
    drawn = history(repository, "main: a b", "fix@b: c d", "main: e", conversation="conv-009")
    update(repository, "conv-009", at_once=True)
    update(repository, "conv-009/fix", at_once=True)
    merge(repository, "conv-009", "fix", target="main")
    update(repository, "conv-009", at_once=True)
    covered = remembered(repository)
    assert len(covered) == len(set(covered))
    assert set(covered) >= set(drawn.ids.values())


def test_a_cherry_picked_message_is_not_new(repository):
    drawn = history(repository, "main: a b", "fix@a: c", conversation="conv-009")
    update(repository, at_once=True)
    cherry_pick(repository, "conv-009", [drawn.ids["c"]], branch="main")
    assert update(repository, at_once=True).entries == ()


def test_a_message_appended_after_a_rewind_is_new(repository):
    say(repository, "One.", "Two.")
    update(repository, at_once=True)
    rewind(repository, CONVERSATION, count=1)
    assert update(repository, at_once=True).entries == ()
    (again,) = say(repository, "Another two.")
    assert update(repository, at_once=True).entries[0].sources.messages == (again,)


def test_an_amendment_is_new_and_a_retraction_is_not(repository):
    first, second = say(repository, "It is port 80.", "Forget this.")
    update(repository, at_once=True)
    retract(repository, CONVERSATION, second, "", author=Author("planner"))
    assert update(repository, at_once=True).entries == ()
    amend(repository, CONVERSATION, first, "It is port 8080.", author=Author("planner"))
    assert update(repository, at_once=True).entries[0].summary == "It is port 8080."


def test_a_rebased_branch_has_no_new_messages(repository):
    history(repository, "main: a b", "fix@a: c d", conversation="conv-009")
    update(repository, at_once=True)
    rebase(repository, "conv-009", branch="fix", onto="main")
    assert update(repository, at_once=True).entries == ()


@pytest.mark.parametrize("limit", [0, 1])
def test_pruned_messages_are_not_new_on_any_branch(repository, limit):
    history(repository, "main: a b c d", "fix@b: e f g h", conversation="conv-009")
    assert len(update(repository).entries) == 2
    prune(repository, max_entries=limit)
    assert update(repository, at_once=True).entries == ()
    assert len(list_memory(repository).entries) == limit
