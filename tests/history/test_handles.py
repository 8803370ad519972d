"""Handles resolve names once and read the present state at every call."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import switch
from scopes.conversation.new_rename_delete import delete_branch, rename_title
from scopes.errors import NotFound
from scopes.history.handles import BranchHandle, ConversationHandle, StoreHandle
from scopes.history.messages import read_message
from scopes.history.names import Revision
from tests.support.history import history, say


@pytest.fixture
def store(repository):
    """A store with one conversation of two branches."""
    history(repository, "main: a b", "fix: c")
    return StoreHandle(repository)


def test_a_store_lists_and_finds_conversations(store):
    assert [conversation.id for conversation in store.conversations()] == ["conv-001"]
    assert store.conversation("conv") == ConversationHandle(store.repository, "conv-001")
    with pytest.raises(NotFound):
        store.conversation("other")


def test_a_conversation_lists_and_finds_branches(store):
    conversation = store.conversation("conv-001")
    assert [branch.name for branch in conversation.branches()] == ["fix", "main"]
    assert conversation.branch("fi") == BranchHandle(conversation, "fix") == store.branch("conv-001/fix")
    switch(store.repository, "conv-001", "fix")
    assert conversation.active_branch.name == conversation.branch().name == "fix"


def test_an_active_ref_that_names_another_conversation_does_not_count(store):
    history(store.repository, "main: x")
    ref = "refs/scopes/active/conv-001"
    store.repository.git.create_reference_symbolic(ref, "refs/heads/conv-002/main", force=True)
    assert store.branch("conv-001").name == "main"


def test_a_handle_reads_the_present_state(store):
    branch = store.branch("conv-001", "main")
    assert [message.text for message in branch.messages()] == ["b", "a"]
    say(store.repository, "conv-001", "new", branch="main")
    assert [head.subject for head in branch.headers()] == ["new", "b", "a"]
    rename_title(store.repository, "conv-001", "Login")
    assert branch.conversation.metadata.title == "Login"


def test_a_revision_is_resolved_by_the_store(store):
    branch = store.branch("conv-001", "fix")
    assert branch.revision == Revision("conv-001", "fix", branch.tip) == store.revision("conv-001/fix")
    assert read_message(store.repository, branch.conversation.revision("fix").oid).text == "c"
    assert str(branch) == "conv-001/fix"


def test_a_branch_without_an_entry_has_an_empty_one(store):
    assert store.branch("conv-001", "main").entry.status == "active"
    assert BranchHandle(store.conversation("conv-001"), "nothing").entry.fork is None


def test_a_deleted_branch_has_no_tip(store):
    branch = store.branch("conv-001", "fix")
    delete_branch(store.repository, "conv-001", "fix", force=True)
    with pytest.raises(NotFound, match="branch conv-001/fix no longer exists"):
        _ = branch.tip
