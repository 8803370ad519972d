"""Push, fetch and clone through a bare directory."""

from __future__ import annotations

import pytest

from scopes.conversation.rename import rename_title
from scopes.conversation.undo import undo
from scopes.history.metadata import read_metadata
from scopes.history.revisions import list_branch_tips
from tests.support.history import history, say, texts
from tests.support.remotes import add, clone_to, fetch_from, machine, make_bare, push_to
from tests.support.store import assert_sound, git, open_store


@pytest.fixture
def bare(tmp_path):
    """Make a bare repository."""
    return make_bare(tmp_path / "bare.git")


def test_a_pushed_conversation_is_cloned_commit_by_commit(repository, bare, tmp_path):
    history(repository, "main: a b", "fix@a: c")
    rename_title(repository, "conv-001", "Login")
    add(repository, bare)
    pushed = push_to(repository, "conv-001")
    assert [(row.status, row.branches, row.messages) for row in pushed.conversations] == [("new", 2, 3)]
    cloned = clone_to(tmp_path / "other", bare)
    assert [(row.status, row.conversation) for row in cloned.fetched.conversations] == [("new", "conv-001")]
    other = open_store(tmp_path / "other")
    assert list_branch_tips(other, "conv-001") == list_branch_tips(repository, "conv-001")
    assert read_metadata(other, "conv-001").title == "Login"
    assert texts(other, "conv-001/fix") == texts(repository, "conv-001/fix")
    assert_sound(other)
    assert_sound(repository)
    assert git(bare, "fsck", "--strict", "--full", "--no-dangling") == ""
