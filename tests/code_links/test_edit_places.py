"""Whether an edit was made in another repository than the project."""

from __future__ import annotations

import pytest

from scopes.code_links.edit_places import EditPlaces
from scopes.code_links.project_commits import read_repository_id
from tests.support.code_sessions import Project
from tests.support.pipes import named_pipe


@pytest.fixture
def places(world, project):
    project.write("app.py", "x = 1\n")
    project.commit("Begin")
    with world.git() as git:
        yield EditPlaces(git)


@pytest.fixture
def other(tmp_path, project):
    made = Project(tmp_path / "other", project.clock)
    made.write("app.py", "x = 2\n")
    made.commit("Begin elsewhere")
    return made


def test_files_of_the_project_are_its_own(places, project):
    assert not places.is_foreign(f"{project.path}/app.py")
    assert not places.is_foreign(f"{project.path}/gone/app.py")


def test_files_of_another_repository_are_foreign(places, other):
    assert places.is_foreign(f"{other.path}/app.py")


def test_files_of_a_clone_and_of_a_worktree_are_its_own(places, project, tmp_path):
    project.git("clone", "-q", str(project.path), str(tmp_path / "clone"))
    project.git("worktree", "add", "-q", str(tmp_path / "tree"))
    assert not places.is_foreign(f"{tmp_path}/clone/app.py")
    assert not places.is_foreign(f"{tmp_path}/tree/app.py")


@pytest.mark.parametrize("path", ["app.py", "/home/alice/project/app.py", "C:\\project\\app.py", "", "/\0/app.py"])
def test_a_path_that_is_not_here_proves_nothing(places, path):
    assert not places.is_foreign(path)


def test_a_directory_outside_of_repositories_proves_nothing(places, tmp_path):
    assert not places.is_foreign(f"{tmp_path}/app.py")


def test_every_other_repository_is_compared_once(places, other, monkeypatch):
    calls = []

    def read(git):
        calls.append(git.repository.top)
        return read_repository_id(git)

    monkeypatch.setattr("scopes.code_links.edit_places.read_repository_id", read)
    (other.path / "src").mkdir()
    for name in ("app.py", "b.py", "src/c.py"):
        places.is_foreign(f"{other.path}/{name}")
    assert calls == [str(other.path)]


def test_a_repository_that_cannot_be_recognized_proves_nothing(places, project, tmp_path):
    """One without commits, and a shallow clone, may be of the project."""
    empty = Project(tmp_path / "empty", project.clock)
    project.write("b.py", "x = 1\n")
    project.commit("More")
    project.git("clone", "-q", "--depth", "1", f"file://{project.path}", str(tmp_path / "shallow"))
    assert not places.is_foreign(f"{empty.path}/app.py")
    assert not places.is_foreign(f"{tmp_path}/shallow/app.py")


def test_another_repository_that_cannot_be_read_is_another_one(places, other):
    """Git would wait for ever at the pipe; that it is not the project itself is known without it."""
    with named_pipe(other.path / ".git/refs/heads/pipe"):
        assert places.is_foreign(f"{other.path}/app.py")
