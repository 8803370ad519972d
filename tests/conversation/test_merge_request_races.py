"""Merge requests that two people end, open or change at one moment: one of them is told what the other one did."""

from __future__ import annotations

import pytest

from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import delete_branch
from scopes.errors import NotFound, Refused
from scopes.history.names import list_branch_tips
from tests.conversation.test_merge_request_states import closed, merged, opened, states
from tests.support.history import history, say, texts
from tests.support.store import assert_sound, overtake


@pytest.fixture
def branches(repository):
    """Two branches that began at one message and have one message each."""
    return history(repository, "main: a b", "fix@a: x")


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (closed, closed, "already closed"),
        (merged, closed, "already merged"),
        (closed, merged, "is closed"),
        (merged, merged, "is merged"),
    ],
    ids=["close, close", "merge, close", "close, merge", "merge, merge"],
)
def test_of_two_writers_at_one_moment_the_second_is_refused(repository, branches, first, second, message):
    """The second had read an open request; a closed one was merged all the same."""
    opened(repository)
    overtake(repository, first)
    with pytest.raises(Refused, match=message):
        second(repository)
    tips = list_branch_tips(repository, "conv-001")
    assert (texts(repository, "conv-001/main") == ["a", "b"]) == (first is closed)
    assert tips["fix"] == branches.oids["x"]
    assert_sound(repository)


def test_of_two_who_open_the_same_request_the_second_sees_the_first(repository, branches):
    overtake(repository, opened)
    with pytest.raises(Refused, match="merge request 1 for fix into main is open"):
        opened(repository)
    assert states(repository) == {1: "open"}


def test_a_request_opened_while_its_source_was_being_merged_is_refused(repository, branches):
    overtake(repository, lambda store: merge(store, "conv-001", "fix", target="main"))
    with pytest.raises(Refused, match="already has all messages"):
        opened(repository)


def test_what_was_appended_to_the_source_meanwhile_is_merged_too(repository, branches):
    opened(repository)
    overtake(repository, lambda store: say(store, "conv-001/fix", "late"))
    merged(repository)
    assert "late" in texts(repository, "conv-001/main")


def test_a_branch_that_is_deleted_meanwhile_is_not_merged(repository, branches):
    opened(repository)
    overtake(repository, lambda store: delete_branch(store, "conv-001", "fix", force=True))
    with pytest.raises(NotFound):
        merged(repository)
    assert texts(repository, "conv-001/main") == ["a", "b"]
