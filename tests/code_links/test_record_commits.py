"""The commits of a recorded turn: which moves of HEAD count, and what a foreign or damaged record of them does."""

from __future__ import annotations

import os

import pytest

from scopes.code_links import record_commits
from scopes.code_links.commit_store import CommitRecords
from scopes.code_links.record_commits import find_commit_facts, has_commits, record_turn
from scopes.code_links.reflog import begin_turn
from scopes.history.sessions import HOOKS
from scopes.store.operations import walk_operations
from scopes.store.repository import Caller
from tests.support.store import assert_sound
from tests.support.worktrees import Project

A, B = "a" * 40, "b" * 40
UUID = "11111111-2222-8333-8444-555555555555"


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path / "project")
    made.commit("base", GIT_COMMITTER_DATE="2020-01-01T00:00:00Z", GIT_AUTHOR_DATE="2020-01-01T00:00:00Z")
    return made


def turn(project, repository, change):
    """Let something happen in a turn, and record it; return the new commits that are recorded."""
    opened = begin_turn(project.directory, 0)
    change()
    record_turn(repository, UUID, "m", opened.end())
    return CommitRecords(repository).commits_of(UUID)


def move(action, new=A, old=B, at="2026-01-01T00:00:00Z"):
    return {"old": old, "new": new, "action": action, "at": at}


def test_new_commits_and_merges_are_recorded(project, repository):
    def work():
        project.git("switch", "-q", "-c", "fix")
        project.commit("one")
        project.git("switch", "-q", "main")
        project.commit("two")
        project.git("merge", "-q", "--no-ff", "-m", "join", "fix")

    made = turn(project, repository, work)
    assert sorted(made) == sorted(project.git("rev-list", "HEAD", "--not", "HEAD~2").split())


def test_moving_about_makes_no_commit(project, repository):
    project.commit("one")

    def work():
        project.git("switch", "-q", "-c", "fix", "HEAD~1")
        project.git("switch", "-q", "main")
        project.git("reset", "-q", "--hard", "HEAD~1")
        project.git("merge", "-q", "HEAD@{1}")

    assert turn(project, repository, work) == []


def test_a_commit_that_was_taken_back_in_the_turn_is_recorded_all_the_same(project, repository):
    def work():
        project.commit("one")
        project.git("reset", "-q", "--hard", "HEAD~1")

    assert len(turn(project, repository, work)) == 1


def test_a_revert_is_a_commit_of_the_turn(project, repository):
    made = turn(project, repository, lambda: project.git("revert", "--no-edit", "HEAD"))
    assert made == [project.head()]


def test_the_operation_is_not_one_of_the_user(project, repository):
    repository.caller = Caller("carol", "scopes acp")
    turn(project, repository, lambda: project.commit("one"))
    newest = next(iter(walk_operations(repository)))[1]
    assert (newest.actor, newest.command, repository.caller.actor) == (HOOKS, "scopes acp", "carol")


def test_a_turn_is_recorded_once(project, repository):
    opened = begin_turn(project.directory, 0)
    project.commit("one")
    assert record_turn(repository, UUID, "m", opened.end()) is not None
    assert record_turn(repository, UUID, "later message", opened.end()) is None
    assert_sound(repository)


@pytest.mark.parametrize(
    "git",
    [None, [], "x", {}, {"moves": []}, {"moves": [None, 5, {}]}, {"moves": [move("checkout: moving")]},
     {"moves": [move("commit: x", new="short")]}, {"moves": [move("commit: x", at=5)]}, {"moves": [move(7)]}],
)  # fmt: skip
def test_what_is_no_record_of_moves_has_no_commits(git):
    assert not has_commits(git)


@pytest.mark.parametrize("root", ["", "/nowhere", "relative", "/a\0b", 5, None])
def test_without_the_project_nothing_is_recorded(repository, root):
    assert record_turn(repository, UUID, "m", {"root": root, "moves": [move("commit: x")]}) is None


def test_a_commit_that_is_gone_is_recorded_without_its_text(project, repository):
    git = {"root": project.directory, "moves": [move("commit: gone"), move("cherry-pick: gone", new="c" * 40)]}
    assert record_turn(repository, UUID, "m", git) is not None
    (record,) = CommitRecords(repository).find(A)
    assert (record.subject, record.identity, record.action) == ("", None, "commit: gone")
    assert CommitRecords(repository).find("c" * 40) == []


def test_a_repository_in_which_git_waits_for_ever_does_not_stop_the_recording(project, repository, monkeypatch):
    """The next turn of the session waits for this one."""
    monkeypatch.setattr(record_commits, "_GIT_SECONDS", 0.2)
    opened = begin_turn(project.directory, 0)
    commit = project.commit("one")
    os.mkfifo(os.path.join(project.directory, ".git/objects/info/alternates"))
    record_turn(repository, UUID, "m", opened.end())
    assert list(CommitRecords(repository).commits_of(UUID)) == [commit]
    assert find_commit_facts(opened.worktree, [commit]) == {}
