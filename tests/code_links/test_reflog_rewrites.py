"""Which commits git rewrote is read out of the reflogs of all worktrees."""

from __future__ import annotations

import os

import pytest

from scopes.code_links.commit_record import is_rewritten_head
from scopes.code_links.reflog_rewrites import read_rewrites
from scopes.store.projects import find_worktree
from tests.support.worktrees import Project


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path / "project")
    made.commit("base")
    return made


def rewrites_of(project):
    return read_rewrites(find_worktree(project.directory))


def test_an_amended_commit_leads_to_the_one_before(project):
    first = project.commit("one")
    second = project.commit("two", "--amend")
    assert rewrites_of(project) == {second: [first]}


def test_commits_resets_and_switches_rewrite_nothing(project):
    project.commit("one")
    project.git("reset", "-q", "--hard", "HEAD~1")
    project.git("switch", "-q", "-c", "other")
    project.commit("two")
    assert rewrites_of(project) == {}


def test_a_squash_of_a_rebase_leads_to_the_commit_that_it_went_into(project):
    first = project.commit("one")
    project.git("commit", "-q", "--allow-empty", "--squash", "HEAD", "--no-edit")
    project.git("-c", "sequence.editor=true", "rebase", "-q", "-i", "--autosquash", "HEAD~2")
    assert rewrites_of(project).get(project.head(), [first]) == [first]


def test_an_amend_in_another_worktree_counts_from_each_of_them(project, tmp_path):
    first = project.commit("one")
    project.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Project(tmp_path / "side", create=False)
    second = side.commit("two", "--amend")
    assert rewrites_of(project) == rewrites_of(side) == {second: [first]}


def test_a_repository_without_a_reflog_has_none(project):
    os.unlink(os.path.join(project.directory, ".git", "logs", "HEAD"))
    assert rewrites_of(project) == {}


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("commit (amend): x", True),
        ("rebase (squash): x", True),
        ("rebase -i (fixup): x", True),
        ("rebase (reword): x", True),
        ("rebase (pick): x", False),
        ("rebase (continue): x", False),
        ("commit: x", False),
        ("reset: moving to HEAD~1", False),
    ],
)
def test_an_action_tells_whether_the_commit_that_head_was_is_gone(action, expected):
    assert is_rewritten_head(action) is expected
