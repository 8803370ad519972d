"""`switch`: make another branch active."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import abandon, switch
from scopes.conversation.undo import list_operations, undo
from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.history.names import read_active_branch
from tests.support.history import history, say, texts
from tests.support.store import git, open_store, refs


def test_messages_are_appended_to_the_active_branch(repository):
    history(repository, "main: a", "fix: b")
    result = switch(repository, "conv", "fi")
    assert (result.conversation, result.branch, result.previous) == ("conv-001", "fix", "main")
    say(repository, "conv-001", "c")
    assert texts(repository, "conv-001/fix") == ["a", "b", "c"]
    assert texts(repository, "conv-001/main") == ["a"]


def test_another_process_sees_the_active_branch(repository):
    drawn = history(repository, "main: a", "fix: b")
    switch(repository, "conv-001", "fix")
    assert read_active_branch(open_store(repository.path), drawn.conversation) == "fix"
    assert git(repository, "symbolic-ref", "refs/scopes/active/conv-001") == "refs/heads/conv-001/fix\n"


def test_switching_moves_no_branch(repository):
    history(repository, "main: a", "fix: b")
    before = refs(repository)
    switch(repository, "conv-001", "fix")
    moved = {name for name, value in refs(repository).items() if before[name] != value}
    assert moved == {"refs/scopes/active/conv-001"}


def test_switching_to_the_active_branch_is_not_an_operation(repository):
    history(repository, "main: a", "fix: b")
    count = len(list_operations(repository).operations)
    result = switch(repository, "conv-001", "main")
    assert (result.branch, result.previous, result.operation) == ("main", "main", None)
    assert len(list_operations(repository).operations) == count


def test_each_conversation_has_its_own_active_branch(repository):
    one = history(repository, "main: a", "fix: b")
    two = history(repository, "main: c", "fix: d")
    switch(repository, "conv-002", "fix")
    assert read_active_branch(repository, one.conversation) == "main"
    assert read_active_branch(repository, two.conversation) == "fix"


def test_an_abandoned_branch_can_be_made_active(repository):
    """S4-8: its history is kept, and it can be continued."""
    history(repository, "main: a", "fix: b")
    abandon(repository, "conv-001", "fix")
    assert switch(repository, "conv-001", "fix").branch == "fix"
    assert say(repository, "conv-001", "c").branch == "fix"


def test_a_switch_can_be_undone(repository):
    drawn = history(repository, "main: a", "fix: b")
    switch(repository, "conv-001", "fix")
    assert undo(repository).target.summary == "switch conv-001 to fix"
    assert read_active_branch(repository, drawn.conversation) == "main"


@pytest.mark.parametrize(("branch", "refused"), [("nope", NotFound), ("fix", Ambiguous), ("", Invalid)])
def test_an_unknown_branch_is_refused(repository, branch, refused):
    history(repository, "main: a", "fix-1:", "fix-2:")
    before = refs(repository)
    with pytest.raises(refused) as refusal:
        switch(repository, "conv-001", branch)
    assert refusal.value.hint
    assert refs(repository) == before
    with pytest.raises(NotFound):
        switch(repository, "conv-9", "main")
