"""A prompt is known by the directory of its session, whoever opened that."""

from __future__ import annotations

import pytest

from scopes.server.acp.session_directories import SessionDirectories
from tests.support.worktrees import Project


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path / "project")
    made.commit("one")
    return made


def prompt(session="s"):
    return {"id": 9, "method": "session/prompt", "params": {"sessionId": session}}


def opening(method, cwd, **params):
    return {"id": 1, "method": method, "params": {"cwd": cwd, **params}}


@pytest.mark.parametrize(
    ("method", "params", "result"),
    [
        ("session/new", {}, {"sessionId": "s"}),
        ("session/fork", {"sessionId": "other"}, {"sessionId": "s"}),
        ("session/load", {"sessionId": "s"}, {}),
        ("session/resume", {"sessionId": "s"}, {}),
    ],
)
def test_the_answer_of_an_opening_makes_the_directory_known(project, method, params, result):
    directories = SessionDirectories()
    directories.observe("editor", opening(method, project.directory, **params), 0)
    assert directories.observe("editor", prompt(), 0) is None
    directories.observe("agent", {"id": 1, "result": result}, 0)
    assert directories.observe("editor", prompt(), 5_000_000_000).before == project.head()


def test_a_session_that_could_not_be_opened_has_no_directory(project):
    directories = SessionDirectories()
    directories.observe("editor", opening("session/load", project.directory, sessionId="s"), 0)
    directories.observe("agent", {"id": 1, "error": {"code": 1, "message": "no"}}, 0)
    assert directories.observe("editor", prompt(), 0) is None


def test_a_session_that_scopes_has_continued_has_its_directory(project):
    directories = SessionDirectories()
    directories.add("s", project.directory)
    assert directories.observe("editor", prompt(), 0).worktree.directory == project.directory
    assert directories.observe("agent", prompt(), 0) is None


@pytest.mark.parametrize("cwd", [None, 5, "", "relative", "/nowhere", "/a\0b", "/\ud800", "x" * 9000])
def test_no_directory_is_an_error(cwd):
    directories = SessionDirectories()
    directories.observe("editor", opening("session/new", cwd), 0)
    directories.observe("agent", {"id": 1, "result": {"sessionId": "s"}}, 0)
    assert directories.observe("editor", prompt(), 0) is None
