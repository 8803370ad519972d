"""`rename`: titles, conversations and branches."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch, switch, tag
from scopes.conversation.new_rename_delete import new, rename_branch, rename_conversation, rename_title
from scopes.conversation.show import show
from scopes.conversation.undo import list_operations, redo, undo
from scopes.conversation.verify import verify
from scopes.errors import Invalid, NotFound, Refused
from scopes.history.metadata import read_metadata
from scopes.history.names import conversation_ids, list_branch_tips, read_active_branch, resolve_revision
from tests.support.history import history, say, texts
from tests.support.store import git, refs


def test_a_title_is_set_changed_and_removed(repository):
    new(repository)
    assert rename_title(repository, "conv", "Login").new == "Login"
    result = rename_title(repository, "conv-001", "  Sign in \n")
    assert (result.what, result.old, result.new) == ("title", "Login", "Sign in")
    assert show(repository, "conv-001").title == "Sign in"
    assert rename_title(repository, "conv-001", " ").new is None
    assert show(repository, "conv-001").title is None


def test_setting_the_same_title_is_not_an_operation(repository):
    new(repository, title="Login")
    assert rename_title(repository, "conv-001", "Login ").operation is None
    assert len(list_operations(repository).operations) == 1


@pytest.mark.parametrize("title", ["a\nb", "\x1b[31m", "日本 🎉", "x" * 10_000, "refs/heads/x"])
def test_a_title_may_be_any_text(repository, title):
    new(repository)
    rename_title(repository, "conv-001", title)
    assert show(repository, "conv-001").title == title
    assert git(repository, "fsck", "--strict") == ""


def test_a_renamed_conversation_keeps_branches_metadata_and_active_branch(repository):
    drawn = history(repository, "main: a b", "fix@a: c")
    uuid = show(repository, "conv-001").uuid
    tag(repository, "conv-001", "v1", "main~1")
    rename_title(repository, "conv-001", "Login")
    switch(repository, "conv-001", "fix")
    result = rename_conversation(repository, "conv", "login")
    assert (result.what, result.old, result.new) == ("conversation", "conv-001", "login")
    assert conversation_ids(repository) == ["login"]
    seen = show(repository, "login")
    assert (seen.uuid, seen.title, seen.active_branch) == (uuid, "Login", "fix")
    assert list_branch_tips(repository, seen.id) == {"main": drawn.oids["b"], "fix": drawn.oids["c"]}
    assert resolve_revision(repository, "login/v1").oid == drawn.oids["a"]
    assert not [ref for ref in refs(repository) if "conv-001" in ref]


def test_a_renamed_conversation_can_be_continued_and_renamed_back(repository):
    history(repository, "main: a", conversation="old")
    rename_conversation(repository, "old", "new")
    say(repository, "new", "b")
    rename_conversation(repository, "new", "old")
    assert texts(repository, "old") == ["a", "b"]
    assert verify(repository).findings == ()


@pytest.mark.parametrize(("old", "new_name"), [("conv-001", "Conv-001"), ("a", "a.b"), ("x" * 200, "y" * 200)])
def test_an_id_can_be_renamed_to_any_other_id(repository, old, new_name):
    history(repository, "main: a", conversation=old)
    rename_conversation(repository, old, new_name)
    assert texts(repository, new_name) == ["a"]


def test_the_id_of_another_conversation_is_refused(repository):
    history(repository, "main: a", conversation="one")
    history(repository, "main: b", conversation="two")
    before = refs(repository)
    with pytest.raises(Refused, match="conversation two already exists") as refusal:
        rename_conversation(repository, "one", "two")
    assert refusal.value.hint == "choose another name"
    with pytest.raises(Invalid, match="is not a valid conversation id"):
        rename_conversation(repository, "one", "two/three")
    assert refs(repository) == before


def test_renaming_a_conversation_is_undone_and_redone_completely(repository):
    history(repository, "main: a", "fix: b")
    before = refs(repository)
    rename_conversation(repository, "conv-001", "login")
    after = refs(repository)
    undo(repository)
    assert refs(repository) == before
    redo(repository)
    assert refs(repository) == after


def test_a_renamed_branch_keeps_its_metadata(repository):
    drawn = history(repository, "main: a")
    made = branch(repository, "conv-001", purpose="analysis", agent="carol", name="old")
    say(repository, "conv-001", "b")
    before = read_metadata(repository, drawn.conversation).branches[made.name]
    result = rename_branch(repository, "conv", "ol", "new/name")
    assert (result.what, result.old, result.new) == ("branch", "old", "new/name")
    entries = read_metadata(repository, drawn.conversation).branches
    assert entries["new/name"] == before
    assert sorted(entries) == ["main", "new/name"]
    assert texts(repository, "conv-001/new/name") == ["a", "b"]
    assert read_active_branch(repository, drawn.conversation) == "new/name"


def test_child_branches_refer_to_a_renamed_branch_by_its_new_name(repository):
    history(repository, "main: a", "fix: b")
    for child in ("one", "two"):
        branch(repository, "conv-001", name=child, start="fix", switch=False)
    rename_branch(repository, "conv-001", "fix", "repair")
    parents = {b.name: b.parent for b in show(repository, "conv-001").branches}
    assert parents == {"main": None, "one": "repair", "two": "repair", "repair": "main"}
    undo(repository)
    assert {b.parent for b in show(repository, "conv-001").branches} == {None, "main", "fix"}


@pytest.mark.parametrize(("old", "new_name"), [("x", "x/y"), ("x/y", "x"), ("x", "X"), ("x/y/z", "x/y")])
def test_a_branch_can_be_renamed_to_a_path_below_or_above_its_name(repository, old, new_name):
    """The old ref is deleted first, because it may be a directory of the new one."""
    drawn = history(repository, "main: a", f"{old}: b")
    rename_branch(repository, "conv-001", old, new_name)
    assert list_branch_tips(repository, drawn.conversation) == {"main": drawn.oids["a"], new_name: drawn.oids["b"]}
    undo(repository)
    assert texts(repository, f"conv-001/{old}") == ["a", "b"]
    assert verify(repository).findings == ()


def test_renaming_another_branch_does_not_change_the_active_one(repository):
    drawn = history(repository, "main: a", "fix: b")
    rename_branch(repository, "conv-001", "fix", "repair")
    assert read_active_branch(repository, drawn.conversation) == "main"


def test_main_cannot_be_renamed(repository):
    history(repository, "main: a")
    with pytest.raises(Refused, match="the branch main cannot be renamed") as refusal:
        rename_branch(repository, "conv-001", "main", "trunk")
    assert refusal.value.hint == "create another branch from it: scopes branch"


def test_a_taken_invalid_or_unknown_branch_name_is_refused(repository):
    history(repository, "main: a", "fix: b", "other:")
    before = refs(repository)
    for old, new_name, refused in (
        ("fix", "other", Refused), ("fix", "main", Refused), ("fix", "fix", Refused), ("fix", "main/x", Invalid),
        ("fix", "a..b", Invalid), ("nope", "x", NotFound), ("", "x", Invalid),
    ):  # fmt: skip
        with pytest.raises(refused) as refusal:
            rename_branch(repository, "conv-001", old, new_name)
        assert refusal.value.hint
    assert refs(repository) == before
