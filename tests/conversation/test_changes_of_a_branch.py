"""`changes --branch`, also spelled `--version` as in the specification (S4-51)."""

from __future__ import annotations

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.changes import changes
from scopes.conversation.new_rename_delete import new
from scopes.errors import NotFound
from scopes.history.messages import plain_message


@pytest.fixture
def forked(repository):
    """Main has one message; `idea` begins there and has one more, and then main gets another."""
    new(repository)
    append(repository, "conv-001", plain_message("carol", "first"))
    branch(repository, "conv-001", name="idea")
    append(repository, "conv-001", plain_message("carol", "an idea"), branch="idea")
    append(repository, "conv-001", plain_message("carol", "on main"), branch="main")
    return repository


def subjects(repository, name):
    found = changes(repository, "conv-001", branch=name).items
    return [change.after["subject"] for change in found if change.field_path == "messages"]


def test_only_the_history_of_the_branch_is_listed(forked):
    """S4-51."""
    assert subjects(forked, "idea") == ["first", "an idea"]
    assert subjects(forked, "main") == ["first", "on main"]


def test_the_branch_itself_is_listed_and_the_others_are_not(forked):
    paths = {change.field_path for change in changes(forked, "conv-001", branch="idea").items}
    assert "branches.idea" in paths
    assert "branches.main" not in paths
    assert "active_branch" not in paths


def test_an_unknown_branch_is_an_error(forked):
    with pytest.raises(NotFound):
        changes(forked, "conv-001", branch="nowhere")
