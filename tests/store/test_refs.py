"""Names of refs, and names that conflict on some file systems."""

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.errors import Invalid
from scopes.ids import BranchName, ConversationId, OperationId
from scopes.store import refs
from tests.support.examples import examples
from tests.support.store import git, write_message

CONVERSATION = ConversationId("conv-001")
components = st.text("aAbBß", min_size=1, max_size=2)
ref_names = st.lists(components, min_size=1, max_size=3).map(lambda parts: "refs/heads/" + "/".join(parts))


def check(existing, *added):
    refs.check_name_conflicts([refs.HEADS + name for name in existing], [refs.HEADS + name for name in added])


def test_every_kind_of_ref_has_its_own_prefix():
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
def test_refs_deleted_by_one_operation_get_distinct_trash_refs(ref, tail):
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
def test_names_that_conflict_on_some_file_system_are_refused(existing, added, other):
    """A-5, storage pitfall 10: a directory and a file, upper and lower case."""
    with pytest.raises(Invalid) as caught:
        check([existing], added)
    assert f"'{other}'" in caught.value.message
    assert caught.value.exit_code == 2


def test_names_added_at_once_must_not_conflict_either():
    with pytest.raises(Invalid):
        check([], "conv-001/x", "conv-001/x/y")
    with pytest.raises(Invalid):
        check([], "conv-001/X", "conv-001/x")


def test_names_with_a_common_prefix_do_not_conflict():
    check(
        ["conv-001/main", "conv-001/a/b"],
        "conv-001/a/c",
        "conv-001/ab",
        "conv-001/main2",
        "conv-0011/main",
        "conv-001/a/b2",
    )


def test_conflicts_between_existing_refs_are_ignored():
    """A git command may have created them."""
    check(["conv-001/X", "conv-001/x"], "conv-001/y")


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ref_names, unique=True, min_size=2, max_size=5))
def test_accepted_names_can_be_files_on_a_case_insensitive_file_system(tmp_path_factory, names):
    """The model is a disk that folds case; every name must be read back as it was written."""
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
def test_git_refuses_the_same_conflicts_of_files_and_directories(repository, first, second):
    """Git has this part of the rule too."""
    tip = write_message(repository, "one")
    git(repository, "update-ref", f"refs/heads/conv-001/{first}", tip)
    command = ["git", f"--git-dir={repository.path}", "update-ref", f"refs/heads/conv-001/{second}", tip]
    assert subprocess.run(command, capture_output=True, check=False, env=dict(os.environ)).returncode != 0
    with pytest.raises(Invalid):
        check([f"conv-001/{first}"], f"conv-001/{second}")


def test_find_returns_the_conflicting_ref():
    found = refs.RefNameConflicts(["Fork", "a/b"])
    assert [found.find(name) for name in ("fork/x", "A/c", "a", "b")] == ["Fork", "a/b", "a/b", None]
    found.add("b/c")
    assert found.find("b") == "b/c"


@given(
    existing=st.lists(st.sampled_from(["a", "a/b", "a/c", "A/b", "a/b/c", "B", "b", "b/x", "É/a", "é/b"]), max_size=5),
    added=st.lists(
        st.sampled_from(["a", "a/b", "a/B", "a/d", "b", "b/y", "é", "a/b/d"]), max_size=2, min_size=1, unique=True
    ),
)
def test_leaving_out_distant_refs_changes_no_answer_about_conflicts(existing, added):
    names = refs.RefNameConflicts(sorted(existing))
    expected = None
    for name in added:
        expected = expected or names.find(name)
        names.add(name)
    if expected is None:
        refs.check_name_conflicts(existing, added)
    else:
        with pytest.raises(Invalid):
            refs.check_name_conflicts(existing, added)
