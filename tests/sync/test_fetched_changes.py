"""`changes` of what a fetch has brought: its cause is the remote, not whoever ran the fetch."""

from __future__ import annotations

import pytest

from scopes.conversation.changes import changes
from scopes.conversation.new_rename_delete import rename_title
from scopes.conversation.undo import undo
from tests.render.rendering import seen_lines
from tests.support.recalled import recalled
from tests.support.remotes import fetch_from, machine, push_to


@pytest.fixture
@recalled
def theirs(ours, bare, tmp_path):
    """The store of cat, who has fetched what carol has pushed, and then her new title."""
    push_to(ours)
    store = machine(tmp_path / "cat", bare, "cat")
    fetch_from(store)
    rename_title(ours, "conv-001", "Her title")
    push_to(ours)
    fetch_from(store)
    return store


def causes(store, field):
    return [change.cause for change in changes(store, "conv-001", field=field).items]


def test_the_cause_of_a_fetched_title_is_the_remote(ours, theirs):
    assert causes(theirs, "title") == ["remote:origin"]
    assert causes(ours, "title") == ["user:carol"]
    assert {"remote:origin"} == set(causes(theirs, "branches"))


def test_messages_that_were_fetched_have_their_authors(ours, theirs):
    assert causes(theirs, "messages") == causes(ours, "messages")


def test_who_takes_a_fetch_back_is_the_cause_of_that(theirs):
    undo(theirs)
    assert causes(theirs, "title") == ["remote:origin", "user:cat"]


def test_changes_of_remotes_can_be_chosen_and_are_not_shown_as_people(theirs):
    found = changes(theirs, "conv-001", cause="remote", field="title")
    assert len(found.items) == 1
    assert any("remote:origin" in line for line in seen_lines(found))
