"""The naming scheme: every name apart from every other, and names that cannot exist together with each other on some disk."""

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.errors import Invalid
from scopes.ids import BranchName, ConversationId, OperationId
from scopes.store import refs
from tests.support.store import git, write_message

CONVERSATION = ConversationId("conv-001")
components = st.text("aAbBß", min_size=1, max_size=2)
ref_names = st.lists(components, min_size=1, max_size=3).map(lambda parts: "refs/heads/" + "/".join(parts))


def check(existing, *added):
    refs.check_name_conflicts([refs.HEADS + name for name in existing], [refs.HEADS + name for name in added])


def test_every_kind_of_ref_has_its_own_place():
    names = {
        refs.branch_ref(CONVERSATION, BranchName("analysis/security")),
        refs.meta_ref(CONVERSATION),
        refs.active_ref(CONVERSATION),
        refs.OPERATIONS,
        refs.PENDING,
    }
    assert names == {
        "refs/heads/conv-001/analysis/security",
        "refs/scopes/meta/conv-001",
        "refs/scopes/active/conv-001",
        "refs/scopes/operations",
        "refs/scopes/pending",
    }
    refs.check_name_conflicts([], names)


@pytest.mark.parametrize(
    ("ref", "tail"),
    [
        ("refs/heads/conv-001/main", "heads/main"),
        ("refs/heads/conv-001/a/b", "heads/a/b"),
        ("refs/scopes/meta/conv-001", "meta"),
        ("refs/scopes/active/conv-001", "active"),
        ("refs/heads/conv-001/conv-001", "heads/conv-001"),
    ],
)
def test_the_trash_keeps_apart_what_an_operation_deleted(ref, tail):
    assert refs.trash_ref(CONVERSATION, OperationId("op1"), ref) == f"refs/scopes/trash/conv-001/op1/{tail}"


def test_a_branch_ref_is_split_into_conversation_and_branch():
    assert refs.split_branch_ref("refs/heads/conv-001/a/b") == ("conv-001", "a/b")
    for other in ("refs/heads/conv-001", "refs/scopes/meta/conv-001", "refs/tags/x/y", "HEAD", ""):
        assert refs.split_branch_ref(other) is None


@pytest.mark.parametrize(
    ("existing", "added", "other"),
    [
        ("conv-001/x", "conv-001/x", "conv-001/x"),
        ("conv-001/x", "conv-001/x/y", "conv-001/x"),
        ("conv-001/x/y", "conv-001/x", "conv-001/x/y"),
        ("conv-001/x/y/z", "conv-001/x", "conv-001/x/y/z"),
        ("conv-001/x", "conv-001/x/y/z", "conv-001/x"),
        ("conv-001/Fix", "conv-001/fix", "conv-001/Fix"),
        ("conv-001/Fix", "conv-001/fix/x", "conv-001/Fix"),
        ("conv-001/Fix/a", "conv-001/fix/b", "conv-001/Fix/a"),
        ("Conv-001/a", "conv-001/b", "Conv-001/a"),
        ("conv-001/straße", "conv-001/STRASSE", "conv-001/stra\\xdfe"),
    ],
)
def test_names_that_collide_on_some_disk_are_refused(existing, added, other):
    """A5, storage pitfall 10: directory against file, upper against lower case."""
    with pytest.raises(Invalid) as caught:
        check([existing], added)
    assert f"'{other}'" in caught.value.message
    assert caught.value.exit_code == 2


def test_names_that_are_added_together_must_go_together_too():
    with pytest.raises(Invalid):
        check([], "conv-001/x", "conv-001/x/y")
    with pytest.raises(Invalid):
        check([], "conv-001/X", "conv-001/x")


def test_names_with_a_common_beginning_stand_side_by_side():
    check(
        ["conv-001/main", "conv-001/a/b"],
        "conv-001/a/c",
        "conv-001/ab",
        "conv-001/main2",
        "conv-0011/main",
        "conv-001/a/b2",
    )


def test_what_stands_together_already_is_nobodys_fault():
    """A plain git command may have made it."""
    check(["conv-001/X", "conv-001/x"], "conv-001/y")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ref_names, unique=True, min_size=2, max_size=5))
def test_names_that_pass_can_be_files_of_one_directory_whatever_their_case(tmp_path_factory, names):
    """The model: a disk that folds case, on which every name must come back as it was written."""
    *existing, added = names
    try:
        refs.check_name_conflicts([], existing)
        refs.check_name_conflicts(existing, [added])
    except Invalid:
        return
    folded = [name.casefold().split("/") for name in names]
    paths = {"/".join(parts) for parts in folded}
    directories = {"/".join(parts[:n]) for parts in folded for n in range(1, len(parts))}
    assert len(paths) == len(names)
    assert not paths & directories
    assert len({d for name in names for d in _directories(name)}) == len(directories)


def _directories(name):
    parts = name.split("/")
    return {"/".join(parts[:n]) for n in range(1, len(parts))}


@pytest.mark.parametrize(("first", "second"), [("x", "x/y"), ("x/y", "x"), ("x", "x/y/z")])
def test_git_refuses_the_same_directories_against_files(repository, first, second):
    """The half of the rule that git has too."""
    tip = write_message(repository, "one")
    git(repository, "update-ref", f"refs/heads/conv-001/{first}", tip)
    command = ["git", f"--git-dir={repository.path}", "update-ref", f"refs/heads/conv-001/{second}", tip]
    assert subprocess.run(command, capture_output=True, check=False, env=dict(os.environ)).returncode != 0
    with pytest.raises(Invalid):
        check([f"conv-001/{first}"], f"conv-001/{second}")


def test_neighbours_name_the_ref_that_is_in_the_way():
    found = refs.RefNameConflicts(["Fork", "a/b"])
    assert [found.find(name) for name in ("fork/x", "A/c", "a", "b")] == ["Fork", "a/b", "a/b", None]
    found.add("b/c")
    assert found.find("b") == "b/c"
