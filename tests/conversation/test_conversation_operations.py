"""The operations of one conversation, across renames and deletions: its change log is append-only (S4-51)."""

from __future__ import annotations

import itertools

import pytest

from scopes.conversation.branch import branch, rewind, switch, tag
from scopes.conversation.changes import changes, walk_conversation_operations
from scopes.conversation.new_rename_delete import (
    delete,
    delete_branch,
    new,
    rename_branch,
    rename_conversation,
    rename_title,
)
from scopes.conversation.store import gc
from scopes.conversation.undo import redo, undo
from tests.support.history import history, say
from tests.support.store import git


def kinds(repository, conversation):
    """Return the kinds of the operations of a conversation, oldest first."""
    return [own.record.kind for own in walk_conversation_operations(repository, conversation)][::-1]


def subjects(repository, conversation):
    """Return the subjects of the messages in the change log, joined."""
    return "".join(change.after["subject"] for change in changes(repository, conversation, field="messages").items)


def test_the_operations_of_other_conversations_are_left_out(repository):
    history(repository, "main: a", "fix:")
    history(repository, "main: b", conversation="conv-0011")
    tag(repository, "conv-001", "v1")
    switch(repository, "conv-001", "fix")
    rewind(repository, "conv-0011")
    assert kinds(repository, "conv-001") == ["new", "branch", "tag", "switch"]
    assert kinds(repository, "conv-0011") == ["new", "rewind"]


def test_a_renamed_conversation_keeps_its_earlier_operations(repository):
    history(repository, "main: a", "fix: b")
    rename_conversation(repository, "conv-001", "login")
    rename_conversation(repository, "login", "sign-in")
    tag(repository, "sign-in", "v1")
    assert kinds(repository, "sign-in") == ["new", "branch", "rename", "rename", "tag"]
    assert subjects(repository, "sign-in") == "ab"
    [first, second] = changes(repository, "sign-in", field="id").items
    assert (first.operation, first.before, first.after) == ("UPDATE", "conv-001", "login")
    assert (second.before, second.after) == ("login", "sign-in")


def test_the_operations_of_a_reused_id_begin_with_its_new_conversation(repository):
    history(repository, "main: a", conversation="one")
    rename_conversation(repository, "one", "two")
    history(repository, "main: b", conversation="one")
    assert (kinds(repository, "one"), subjects(repository, "one")) == (["new"], "b")
    assert (kinds(repository, "two"), subjects(repository, "two")) == (["new", "rename"], "a")


def test_deletion_and_undo_are_operations_of_the_same_conversation(repository):
    history(repository, "main: a")
    delete(repository, "conv-001")
    undo(repository)
    redo(repository)
    undo(repository)
    assert kinds(repository, "conv-001") == ["new", "delete", "undo", "redo", "undo"]
    assert subjects(repository, "conv-001") == "a"


def test_operations_of_an_earlier_conversation_with_the_same_id_are_left_out(repository):
    """The messages of a deleted conversation are not in the change log of the next one with its id."""
    history(repository, "main: a", conversation="login")
    deleted = delete(repository, "login")
    history(repository, "main: b", conversation="login")
    assert (kinds(repository, "login"), subjects(repository, "login")) == (["new"], "b")
    rename_conversation(repository, "login", "second")
    undo(repository, deleted.operation)
    assert (kinds(repository, "login"), subjects(repository, "login")) == (["new", "delete", "undo"], "a")
    assert (kinds(repository, "second"), subjects(repository, "second")) == (["new", "rename"], "b")


def test_an_undone_and_redone_creation_is_the_same_conversation(repository):
    new(repository)
    undo(repository)
    redo(repository)
    say(repository, "conv-001", "a")
    assert kinds(repository, "conv-001") == ["new", "undo", "redo"]
    assert subjects(repository, "conv-001") == "a"


def test_a_conversation_created_with_git_has_only_its_later_operations(repository):
    """D-43."""
    drawn = history(repository, "main: a", conversation="mine")
    delete(repository, "mine")
    git(repository, "update-ref", "refs/heads/mine/main", drawn.oids["a"])
    assert kinds(repository, "mine") == []
    rewind(repository, "mine")
    branch(repository, "mine", name="fix")
    assert kinds(repository, "mine") == ["rewind", "branch"]
    assert subjects(repository, "mine") == "a"


def test_expired_operations_are_not_listed(repository):
    history(repository, "main: a b")
    rewind(repository, "conv-001")
    gc(repository, expire_before="now")
    assert kinds(repository, "conv-001") == []
    assert subjects(repository, "conv-001") == "a"


def test_rewound_messages_stay_in_the_change_log(repository):
    """S4-51: append-only."""
    history(repository, "main: a b", "fix@a: c")
    rewind(repository, "conv-001")
    delete_branch(repository, "conv-001", "fix", force=True)
    say(repository, "conv-001", "d")
    assert subjects(repository, "conv-001") == "abcd"


STEPS = {
    "say": lambda r, name: say(r, name, "x"),
    "rewind": rewind,
    "branch": lambda r, name: branch(r, name, purpose="analysis", agent="carol"),
    "drop": lambda r, name: delete_branch(r, name, "fix", force=True),
    "name": lambda r, name: rename_branch(r, name, "old", "older"),
    "title": lambda r, name: rename_title(r, name, "Login"),
    "gone": lambda r, name: (delete(r, name), undo(r)),
    "move": lambda r, name: (rename_conversation(r, name, "login"), undo(r)),
    "twice": lambda r, name: (tag(r, name, "v1"), undo(r), redo(r)),
}


@pytest.mark.parametrize("order", list(itertools.permutations(STEPS, 5))[::700], ids="-".join)
def test_every_operation_only_appends_to_the_change_log(repository, order):
    """S4-51."""
    history(repository, "main: a b c", "fix@b: d", "old@a: e")
    before = changes(repository, "conv-001").items
    for step in order:
        STEPS[step](repository, "conv-001")
        after = changes(repository, "conv-001").items
        assert after[: len(before)] == before
        assert len(after) > len(before)
        before = after


def test_a_rename_does_not_change_the_earlier_change_log(repository):
    """S4-51."""
    history(repository, "main: a b", "fix: c")
    rewind(repository, "conv-001")
    before = changes(repository, "conv-001").items
    rename_conversation(repository, "conv-001", "login")
    assert changes(repository, "login").items[:-1] == before
