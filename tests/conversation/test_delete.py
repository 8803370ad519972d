"""`delete` and `delete-branch`: move to the trash, from which undo restores everything."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import abandon, branch, rewind, switch, tag
from scopes.conversation.log import log
from scopes.conversation.new_rename_delete import delete, delete_branch, list_deleted, new, rename_conversation
from scopes.conversation.show import cat, show
from scopes.conversation.undo import list_operations, redo, undo
from scopes.conversation.verify import verify
from scopes.errors import Ambiguous, NotFound, Refused
from scopes.history.metadata import read_metadata
from scopes.history.names import conversation_ids, list_branch_tips
from tests.support.history import history, say, texts
from tests.support.store import git, refs


def test_a_deleted_conversation_has_no_branches(repository):
    history(repository, "main: a", "fix: b")
    history(repository, "main: c")
    result = delete(repository, "conv-001")
    assert (result.conversation, result.branches) == ("conv-001", 2)
    assert conversation_ids(repository) == ["conv-002"]
    with pytest.raises(NotFound):
        show(repository, "conv-001")


def test_a_deleted_conversation_is_in_the_trash(repository):
    """Storage format: nothing is lost before gc with --expire."""
    drawn = history(repository, "main: a", "fix/deep: b")
    meta = refs(repository)["refs/scopes/meta/conv-001"]
    result = delete(repository, "conv-001")
    place = f"refs/scopes/trash/conv-001/{result.operation}"
    assert refs(repository) == {
        f"{place}/heads/main": drawn.oids["a"],
        f"{place}/heads/fix/deep": drawn.oids["b"],
        f"{place}/meta": meta,
    }


def test_undo_restores_a_deleted_conversation(repository):
    """P9."""
    history(repository, "main: a", "fix: b")
    tag(repository, "conv-001", "v1")
    switch(repository, "conv-001", "fix")
    before = refs(repository)
    delete(repository, "conv-001")
    undo(repository)
    assert refs(repository) == before
    redo(repository)
    assert conversation_ids(repository) == []
    undo(repository)
    assert refs(repository) == before
    assert verify(repository).findings == ()


def test_two_conversations_with_one_id_are_deleted_and_restored_in_turn(repository):
    """Delete, create again with the same id, delete again, undo everything: each conversation is complete."""
    history(repository, "main: a", conversation="login")
    first = refs(repository)
    delete(repository, "login")
    new(repository, conversation_id="login")
    second = refs(repository)
    delete(repository, "login")
    assert len(refs(repository)) == 4
    undo(repository)
    assert refs(repository) == second
    undo(repository)
    assert conversation_ids(repository) == []
    undo(repository)
    assert refs(repository) == first
    assert texts(repository, "login") == ["a"]


def test_a_deletion_is_not_undone_while_the_id_is_in_use_again(repository):
    history(repository, "main: a", conversation="login")
    deleted = delete(repository, "login")
    history(repository, "main: b", conversation="login")
    with pytest.raises(Refused, match="login/main exists again since 'delete login'") as refusal:
        undo(repository, deleted.operation)
    assert refusal.value.hint.startswith("give it another name first: scopes rename login NEW; then: scopes undo ")
    rename_conversation(repository, "login", "second")
    undo(repository, deleted.operation)
    assert (texts(repository, "login"), texts(repository, "second")) == (["a"], ["b"])
    assert verify(repository).findings == ()


def test_deleting_is_one_operation(repository):
    history(repository, "main: a")
    result = delete(repository, "conv")
    last = list_operations(repository).operations[0]
    assert (last.id, last.kind, last.summary) == (result.operation, "delete", "delete conv-001")


def test_an_unknown_or_ambiguous_conversation_is_refused(repository):
    for name in ("conv-a", "conv-b"):
        new(repository, conversation_id=name)
    before = refs(repository)
    with pytest.raises(NotFound):
        delete(repository, "other")
    with pytest.raises(Ambiguous, match="conv-a, conv-b"):
        delete(repository, "conv")
    assert refs(repository) == before


def test_a_branch_whose_messages_are_on_another_branch_is_deleted(repository):
    """S4-7."""
    drawn = history(repository, "main: a b", "same:", "behind@a:")
    result = delete_branch(repository, "conv", "same")
    assert (result.branch, result.tip) == ("same", drawn.oids["b"])
    delete_branch(repository, "conv-001", "beh")
    assert list(list_branch_tips(repository, drawn.conversation)) == ["main"]
    assert sorted(read_metadata(repository, drawn.conversation).branches) == ["main"]


def test_a_branch_contained_in_any_other_branch_can_be_deleted(repository):
    """S4-7: not only in its parent."""
    history(repository, "main: a", "fix: b c", "copy@c: d")
    delete_branch(repository, "conv-001", "fix")
    assert texts(repository, "conv-001/copy") == ["a", "b", "c", "d"]


def test_main_is_never_deleted(repository):
    """S4-7."""
    history(repository, "main: a", "fix:")
    switch(repository, "conv-001", "fix")
    for force in (False, True):
        with pytest.raises(Refused, match="the branch main cannot be deleted") as refusal:
            delete_branch(repository, "conv-001", "main", force=force)
        assert refusal.value.hint == "delete the conversation: scopes delete conv-001"


def test_the_active_branch_is_never_deleted(repository):
    """S4-7: the hint says how to make another branch active."""
    history(repository, "main: a", "fix:")
    switch(repository, "conv-001", "fix")
    for force in (False, True):
        with pytest.raises(Refused, match="fix is the active branch") as refusal:
            delete_branch(repository, "conv-001", "fix", force=force)
        assert refusal.value.hint == "first: scopes switch conv-001 main"
    switch(repository, "conv-001", "main")
    assert delete_branch(repository, "conv-001", "fix").branch == "fix"


def test_an_unmerged_branch_is_deleted_only_with_force(repository):
    """S4-7."""
    drawn = history(repository, "main: a", "fix: b")
    before = refs(repository)
    with pytest.raises(Refused, match="fix has messages that no other branch has") as refusal:
        delete_branch(repository, "conv-001", "fix")
    assert "branch -D" in refusal.value.hint
    assert refs(repository) == before
    delete_branch(repository, "conv-001", "fix", force=True)
    assert list(list_branch_tips(repository, drawn.conversation)) == ["main"]


@pytest.mark.parametrize("abandoned", [True, False])
def test_undo_restores_a_deleted_branch_with_its_metadata(repository, abandoned):
    """S4-7."""
    history(repository, "main: a")
    branch(repository, "conv-001", purpose="analysis", agent="carol", name="x/y", switch=False)
    say(repository, "conv-001/x/y", "b")
    if abandoned:
        abandon(repository, "conv-001", "x/y")
    before = refs(repository)
    delete_branch(repository, "conv-001", "x/y", force=True)
    undo(repository)
    assert refs(repository) == before
    assert verify(repository).findings == ()


def test_a_deleted_branch_name_can_be_reused_and_deleted_again(repository):
    drawn = history(repository, "main: a", "fix: b")
    delete_branch(repository, "conv-001", "fix", force=True)
    branch(repository, "conv-001", name="fix", switch=False)
    say(repository, "conv-001/fix", "c")
    delete_branch(repository, "conv-001", "fix", force=True)
    trash = [value for name, value in refs(repository).items() if name.startswith("refs/scopes/trash/conv-001/")]
    assert len(trash) == 2
    assert drawn.oids["b"] in trash
    undo(repository)
    assert texts(repository, "conv-001/fix") == ["a", "c"]


def test_a_branch_rewound_into_another_is_deleted_without_force(repository):
    """S4-7: unmerged refers to the messages that the branch has now."""
    history(repository, "main: a", "fix: b")
    rewind(repository, "conv-001/fix")
    assert delete_branch(repository, "conv-001", "fix").branch == "fix"


def test_trash_survives_git_gc(repository):
    """P7: the trash refs and the operation keep it reachable."""
    drawn = history(repository, "main: a", "fix: b")
    delete_branch(repository, "conv-001", "fix", force=True)
    git(repository, "reflog", "expire", "--expire=now", "--all")
    git(repository, "gc", "-q", "--prune=now")
    undo(repository)
    assert list_branch_tips(repository, drawn.conversation)["fix"] == drawn.oids["b"]


def test_a_dry_run_names_the_branches_and_changes_nothing(repository):
    history(repository, "main: a", "fix: b")
    before = refs(repository)
    planned = delete(repository, "conv", dry_run=True)
    assert (planned.conversation, planned.branch_names, planned.operation) == ("conv-001", ("fix", "main"), None)
    assert refs(repository) == before


def test_deleted_conversations_are_listed_until_they_are_restored(repository):
    history(repository, "main: a", "fix: b")
    history(repository, "main: c")
    delete(repository, "conv-002")
    deleted = delete(repository, "conv-001")
    first, second = list_deleted(repository).deleted
    assert (first.id, first.title, first.branches, first.operation) == ("conv-001", "a", 2, deleted.operation)
    assert (second.id, second.title, second.branches) == ("conv-002", "c", 1)
    undo(repository, deleted.operation)
    assert [row.id for row in list_deleted(repository).deleted] == ["conv-002"]


def test_a_deleted_branch_is_no_deleted_conversation(repository):
    history(repository, "main: a", "fix: b")
    delete_branch(repository, "conv-001", "fix", force=True)
    assert list_deleted(repository).deleted == ()


@pytest.mark.parametrize("name", ["conv-001", "shop"])
def test_the_name_of_a_deleted_conversation_says_that_it_is_in_the_trash(repository, name):
    history(repository, "main: a", conversation=name)
    history(repository, "main: b", conversation="conv-002")
    operation = delete(repository, name).operation
    for look_up in (show, log, cat):
        with pytest.raises(NotFound, match=f"conversation {name} is in the trash") as refusal:
            look_up(repository, name)
        assert refusal.value.hint.startswith(f"restore it: scopes undo {operation}\n")


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_the_operations_of_the_list_restore_the_conversations_in_any_order(repository, order):
    for _ in range(3):
        history(repository, "main: a b", "fix@a: c")
    before = repository.list_refs("refs/heads/", "refs/scopes/meta/")
    for name in "conv-002", "conv-001", "conv-003":
        delete(repository, name)
    rows = list_deleted(repository).deleted
    assert [row.id for row in rows] == ["conv-003", "conv-001", "conv-002"]
    for number, position in enumerate(order, 1):
        undo(repository, rows[position].operation)
        assert len(list_deleted(repository).deleted) == 3 - number
    assert repository.list_refs("refs/heads/", "refs/scopes/meta/") == before
