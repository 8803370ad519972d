"""A merge that waits for its conflicts: its branches are renamed, deleted, or it is aborted."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.conflicts import list_conflicts, resolve_conflict
from scopes.conversation.merge import Merged, abort_merge, continue_merge, merge
from scopes.conversation.new_rename_delete import delete_branch, rename_branch
from scopes.conversation.undo import undo
from scopes.errors import Ambiguous, NotFound
from scopes.history.names import list_branch_tips, read_active_branch
from scopes.merge.in_progress import list_in_progress
from scopes.model.message import Author
from tests.merge.test_recorded_conflicts import RESOLUTION, decision_on, fork
from tests.render.rendering import seen
from tests.support.history import history, say
from tests.support.store import assert_sound

CAROL = Author("carol")


def merge_into_copy(repository):
    fork(repository)
    branch(repository, "conv-001", name="copy", start="main")
    merge(repository, "conv-001", "fix", target="copy")
    resolve_conflict(repository, "conv-001", "1", take="source", author=CAROL)


def test_a_merge_continues_into_its_renamed_target(repository):
    """M8."""
    merge_into_copy(repository)
    rename_branch(repository, "conv-001", "copy", "other")
    done = continue_merge(repository, "conv-001")
    assert isinstance(done, Merged)
    assert done.target == "other"
    assert b'"my"' in decision_on(repository, "other")
    assert_sound(repository)


def test_the_hint_about_a_deleted_target_undoes_the_deletion_and_not_the_resolution(repository):
    """M8."""
    merge_into_copy(repository)
    deleted = delete_branch(repository, "conv-001", "copy")
    say(repository, RESOLUTION.replace("main", "copy"), "later")
    with pytest.raises(NotFound) as error:
        continue_merge(repository, "conv-001")
    assert f"scopes undo {deleted.operation[:8]}" in error.value.hint
    undo(repository, deleted.operation)
    assert continue_merge(repository, "conv-001").target == "copy"


def test_an_aborted_merge_counts_the_messages_that_go_with_it(repository):
    """M10."""
    fork(repository)
    merge(repository, "conv-001", "fix", target="main")
    say(repository, RESOLUTION, "one")
    say(repository, RESOLUTION, "two")
    done = abort_merge(repository, "conv-001")
    assert done.notes[0].text.startswith("2 messages")
    undo(repository, done.operation)
    assert RESOLUTION.partition("/")[2] in list_branch_tips(repository, "conv-001")


@pytest.mark.parametrize("stops", [False, True])
def test_the_same_tips_give_the_same_merge_commit_whatever_the_branches_are_called(repository, stops):
    """M13, S4-19."""
    fork(repository, main="sqlite", fix="my") if stops else history(repository, "main: a b", "fix@a: c")
    branch(repository, "conv-001", name="other", start="fix", switch=False)
    branch(repository, "conv-001", name="copy", start="main", switch=False)
    one = merge(repository, "conv-001", "fix", target="main")
    two = merge(repository, "conv-001", "other", target="copy")
    assert one.tip == two.tip


def test_an_aborted_merge_without_messages_says_nothing(repository):
    fork(repository)
    merge(repository, "conv-001", "fix", target="main")
    assert not abort_merge(repository, "conv-001").notes


def test_a_conflict_of_two_waiting_merges_is_the_one_that_is_open(repository):
    fork(repository)
    branch(repository, "conv-001", name="copy", start="main", switch=False)
    merge(repository, "conv-001", "fix", target="main")
    merge(repository, "conv-001", "fix", target="copy")
    rows = list_conflicts(repository, "conv-001").conflicts
    [conflict] = {row.conflict.id for row in rows}
    with pytest.raises(Ambiguous):
        resolve_conflict(repository, "conv-001", conflict, take="source", author=CAROL)
    first = resolve_conflict(repository, "conv-001", "1", take="source", author=CAROL)
    assert f"scopes merge conv-001/{first.branch} --continue" in seen(first)
    assert resolve_conflict(repository, "conv-001", conflict, take="source", author=CAROL).remaining == 0


def test_the_branch_of_a_merge_that_has_ended_does_not_become_active_again(repository):
    """Two merges wait at once, and the older one ends first: what is appended then is on the target."""
    fork(repository)
    branch(repository, "conv-001", name="other", start="fix", switch=False)
    merge(repository, "conv-001", "fix", target="main")
    merge(repository, "conv-001", "other", target="main")
    while list_in_progress(repository, "conv-001"):
        resolve_conflict(repository, "conv-001", "1", take="source", author=CAROL, continue_after=True)
    assert read_active_branch(repository, "conv-001") == "main"
