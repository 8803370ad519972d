"""The change log has what `branch` and `collaborate status` derive: merged branches and collaborations (S4-49 to S4-52)."""

from __future__ import annotations

import pytest

from scopes import clock
from scopes.agents.register import register
from scopes.collaboration.contribute import close, join
from scopes.collaboration.report import list_collaborations
from scopes.collaboration.start import Request, start
from scopes.conversation.abandon import abandon
from scopes.conversation.branch import list_branches
from scopes.conversation.changes import changes
from scopes.conversation.delete import delete_branch
from scopes.conversation.merge import merge
from scopes.conversation.undo import redo, undo
from scopes.model.message import Author
from tests.support.history import history, say
from tests.support.random_ids import hashed_counter

CONV = "conv-001"
CAROL = Author("carol", "human")


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def store(repository):
    """A branch of one message, and another message on main after its fork."""
    history(repository, "main: a", "fix: b")
    say(repository, f"{CONV}/main", "on main")
    return repository


def statuses(repository, name="fix"):
    found = changes(repository, CONV, field=f"branches.{name}.status").items
    return [(each.before, each.after, each.cause) for each in found]


def test_a_merge_makes_the_source_merged_and_who_ran_it_is_the_cause(store):
    merge(store, CONV, "fix", target="main")
    assert statuses(store) == [("active", "merged", "user:carol")]


def test_a_fast_forward_merges_the_source_too(repository):
    history(repository, "main: a", "fix: b")
    merge(repository, CONV, "fix", target="main")
    say(repository, f"{CONV}/main", "more")
    assert statuses(repository) == [("active", "merged", "user:carol")]


def test_a_later_message_of_the_source_ends_that_and_another_merge_begins_it_again(store):
    merge(store, CONV, "fix", target="main")
    appended = say(store, f"{CONV}/fix", "more", author="dave")
    merge(store, CONV, "fix", target="main")
    assert statuses(store) == [
        ("active", "merged", "user:carol"), ("merged", "active", "agent:dave"), ("active", "merged", "user:carol"),
    ]  # fmt: skip
    assert changes(store, CONV, field="branches.fix.status").items[1].source == appended.id


def test_undo_of_a_merge_ends_that_and_redo_begins_it_again(store):
    """The message that comes after an undo changes no status."""
    merge(store, CONV, "fix", target="main")
    undo(store)
    redo(store)
    undo(store)
    say(store, f"{CONV}/fix", "more")
    assert [after for _, after, _ in statuses(store)] == ["merged", "active", "merged", "active"]


def test_a_merged_branch_that_is_abandoned_and_revived_is_merged_again(store):
    merge(store, CONV, "fix", target="main")
    abandon(store, CONV, "fix")
    abandon(store, CONV, "fix", revive=True)
    assert [each[:2] for each in statuses(store)] == [
        ("active", "merged"), ("merged", "abandoned"), ("abandoned", "merged"),
    ]  # fmt: skip


def test_the_row_stays_when_the_source_is_deleted(store):
    merge(store, CONV, "fix", target="main")
    before = changes(store, CONV).items
    delete_branch(store, CONV, "fix")
    assert changes(store, CONV).items[: len(before)] == before


def test_a_message_on_the_parent_and_a_branch_without_messages_change_no_status(store):
    say(store, f"{CONV}/main", "more")
    undo(store)
    redo(store)
    assert statuses(store) == []


@pytest.mark.parametrize("after_merge", [False, True])
def test_the_last_status_is_the_one_that_branch_shows(store, after_merge):
    merge(store, CONV, "fix", target="main")
    if after_merge:
        say(store, f"{CONV}/fix", "more")
    [shown] = [row.status for row in list_branches(store, CONV).branches if row.name == "fix"]
    assert statuses(store)[-1][1] == shown


def collaboration(repository):
    register(repository, "ann")
    history(repository, "main: a")
    request = Request(type="consensus", task="Choose", agents=("ann",))
    return start(repository, CONV, request, author=CAROL).branch


def collaboration_statuses(repository):
    found = [row for row in changes(repository, CONV, field="collaborations").items if row.field_path.count(".") == 1]
    return [((row.before or {}).get("status"), (row.after or {}).get("status")) for row in found]


def test_a_collaboration_is_merged_then_closed_as_its_list_shows(repository):
    name = collaboration(repository)
    join(repository, CONV, name, author=Author("ann"))
    merge(repository, CONV, name, target="main")
    [row] = list_collaborations(repository, CONV).rows
    assert collaboration_statuses(repository) == [(None, "open"), ("open", row.status)]
    close(repository, CONV, name, author=CAROL, outcome="JWT")
    undo(repository)
    assert collaboration_statuses(repository)[2:] == [("merged", "closed"), ("closed", "merged")]


def test_a_closed_collaboration_is_not_merged_and_a_merged_one_is_open_after_the_undo_of_that(repository):
    name = collaboration(repository)
    merge(repository, CONV, name, target="main")
    undo(repository)
    close(repository, CONV, name, author=CAROL)
    merge(repository, CONV, name, target="main")
    assert collaboration_statuses(repository) == [
        (None, "open"), ("open", "merged"), ("merged", "open"), ("open", "closed"),
    ]  # fmt: skip


def test_a_message_added_to_a_merged_collaboration_opens_it_again(repository):
    name = collaboration(repository)
    merge(repository, CONV, name, target="main")
    say(repository, f"{CONV}/{name}", "wait")
    assert collaboration_statuses(repository)[1:] == [("open", "merged"), ("merged", "open")]
    assert [row.status for row in list_collaborations(repository, CONV).rows] == ["open"]
