"""`abandon`: hide a branch but keep its history (S4-8)."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import abandon, branch, switch
from scopes.conversation.show import show
from scopes.conversation.undo import list_operations, undo
from scopes.errors import Invalid, NotFound, Refused
from scopes.history.metadata import read_metadata
from scopes.history.names import list_branch_tips, read_active_branch
from tests.support.history import history, say, texts
from tests.support.store import git, refs


def shown(repository):
    return [summary.name for summary in show(repository, "conv-001").branches]


def test_an_abandoned_branch_is_hidden_and_its_history_is_kept(repository):
    """S4-8."""
    drawn = history(repository, "main: a", "fix: b")
    result = abandon(repository, "conv", "fi")
    assert (result.branch, result.status, result.active_branch) == ("fix", "abandoned", "main")
    assert shown(repository) == ["main"]
    assert list_branch_tips(repository, drawn.conversation)["fix"] == drawn.oids["b"]
    assert texts(repository, "conv-001/fix") == ["a", "b"]
    assert say(repository, "conv-001/fix", "c").branch == "fix"


def test_an_abandoned_branch_is_revived(repository):
    """S4-8."""
    history(repository, "main: a", "fix: b")
    abandon(repository, "conv-001", "fix")
    assert abandon(repository, "conv-001", "fix", revive=True).status == "active"
    assert shown(repository) == ["main", "fix"]


def test_abandoning_the_active_branch_makes_main_active(repository):
    drawn = history(repository, "main: a", "fix: b")
    switch(repository, "conv-001", "fix")
    assert abandon(repository, "conv-001", "fix").active_branch == "main"
    assert read_active_branch(repository, drawn.conversation) == "main"
    undo(repository)
    assert read_active_branch(repository, drawn.conversation) == "fix"
    assert shown(repository) == ["main", "fix"]


def test_reviving_a_branch_does_not_change_the_active_branch(repository):
    drawn = history(repository, "main: a", "fix: b")
    abandon(repository, "conv-001", "fix")
    assert abandon(repository, "conv-001", "fix", revive=True).active_branch == "main"
    assert read_active_branch(repository, drawn.conversation) == "main"


@pytest.mark.parametrize("revive", [True, False])
def test_abandoning_a_branch_twice_records_one_operation(repository, revive):
    history(repository, "main: a", "fix: b")
    abandon(repository, "conv-001", "fix")
    abandon(repository, "conv-001", "fix", revive=revive)
    count = len(list_operations(repository).operations)
    assert abandon(repository, "conv-001", "fix", revive=revive).operation is None
    assert len(list_operations(repository).operations) == count


def test_abandoning_keeps_the_other_branch_metadata(repository):
    drawn = history(repository, "main: a")
    made = branch(repository, "conv-001", purpose="analysis", agent="carol", switch=False)
    before = read_metadata(repository, drawn.conversation).branches[made.name]
    abandon(repository, "conv-001", made.name)
    abandon(repository, "conv-001", made.name, revive=True)
    assert read_metadata(repository, drawn.conversation).branches[made.name] == before


def test_a_branch_created_with_git_can_be_abandoned(repository):
    """D-43."""
    drawn = history(repository, "main: a")
    git(repository, "update-ref", "refs/heads/conv-001/mine", drawn.oids["a"])
    abandon(repository, "conv-001", "mine")
    assert shown(repository) == ["main"]


def test_main_cannot_be_abandoned(repository):
    history(repository, "main: a")
    before = refs(repository)
    with pytest.raises(Refused, match="the branch main cannot be hidden") as refusal:
        abandon(repository, "conv-001", "main")
    assert "scopes delete" in refusal.value.hint
    assert refs(repository) == before


@pytest.mark.parametrize(("branch_name", "refused"), [("nope", NotFound), ("", Invalid)])
def test_an_unknown_branch_is_refused(repository, branch_name, refused):
    history(repository, "main: a")
    with pytest.raises(refused) as refusal:
        abandon(repository, "conv-001", branch_name)
    assert refusal.value.hint
