"""Which project a directory belongs to: the repository around it with all worktrees, or itself."""

from __future__ import annotations

import os

import pytest

from scopes.store.projects import (
    choose_store,
    find_project,
    find_project_store,
    find_store_project,
    find_worktree,
    name_of,
)
from tests.support.store import git
from tests.support.worktrees import Project as UserProject


@pytest.fixture
def repository_with_worktree(tmp_path):
    """A repository `shop` with a linked worktree `fix` in the same directory."""
    main = tmp_path / "shop"
    main.mkdir()
    git(main / ".git", "init", "-q")
    git(main / ".git", "commit", "-q", "--allow-empty", "-m", "x")
    git(main / ".git", "worktree", "add", "-q", str(tmp_path / "fix"))
    return main


def project_of(path, home="/home/nobody"):
    return find_project(str(path), home)


def has(project, recorded):
    """Return True if a recorded directory is of a project."""
    return project.find([str(recorded)]) == {str(recorded)}


def test_every_directory_of_a_repository_is_its_project(repository_with_worktree):
    main = repository_with_worktree
    (main / "src" / "api").mkdir(parents=True)
    found = project_of(main / "src" / "api")
    assert (found.directory, found.name, found.store) == (str(main), "shop", str(main / ".git" / "scopes"))


def test_a_linked_worktree_is_the_project_of_its_repository(repository_with_worktree):
    """G3."""
    main, linked = repository_with_worktree, repository_with_worktree.parent / "fix"
    assert (project_of(linked).directory, project_of(linked).name) == (str(main), "shop")
    assert has(project_of(main), linked)
    assert has(project_of(linked), main)


def test_a_deleted_directory_of_a_project_still_belongs_to_it(repository_with_worktree):
    main = repository_with_worktree
    assert has(project_of(main), main / "gone" / "deeper")
    assert project_of(main / "gone").directory == str(main)
    assert not has(project_of(main), f"{main}-other")


def test_a_deleted_worktree_belongs_to_its_repository_while_git_remembers_it(repository_with_worktree):
    main, linked = repository_with_worktree, repository_with_worktree.parent / "fix"
    linked.rename(linked.parent / "elsewhere")
    assert has(project_of(main), linked)


@pytest.mark.parametrize("recorded", ["", ".", "src", "/\0", "\ud800"])
def test_a_text_that_is_no_path_from_the_root_is_of_no_project(tmp_path, monkeypatch, recorded):
    """The current directory is not taken for it."""
    monkeypatch.chdir(tmp_path)
    assert not has(project_of(tmp_path), recorded)


def test_outside_of_git_a_directory_below_is_of_another_project(tmp_path, repository_with_worktree):
    (tmp_path / "src").mkdir()
    found = project_of(tmp_path)
    assert has(found, f"{tmp_path}/")
    assert not any(has(found, tmp_path / each) for each in ("src", "gone", "shop"))
    main = repository_with_worktree
    assert has(project_of(main), main / "src")


def test_a_repository_inside_another_is_a_project_of_its_own(repository_with_worktree):
    main = repository_with_worktree
    (main / "vendor").mkdir()
    git(main / "vendor" / ".git", "init", "-q")
    assert not has(project_of(main), main / "vendor")
    assert project_of(main / "vendor").name == "vendor"


def test_a_path_through_a_link_is_resolved(repository_with_worktree, tmp_path):
    (tmp_path / "link").symlink_to(repository_with_worktree)
    assert has(project_of(repository_with_worktree), tmp_path / "link" / "src")


def test_the_home_directory_is_no_project_even_with_a_repository_in_it(tmp_path):
    git(tmp_path / ".git", "init", "-q")
    (tmp_path / "notes").mkdir()
    assert project_of(tmp_path, home=str(tmp_path)) is None
    assert project_of(tmp_path / "notes", home=str(tmp_path)).directory == str(tmp_path / "notes")
    assert project_of("/") is None


def test_a_directory_of_another_machine_is_a_project_by_its_path():
    found = project_of("/Users/nobody/Work/shop")
    assert (found.directory, found.name) == ("/Users/nobody/Work/shop", "shop")
    assert not has(found, "C:\\Users\\nobody")
    assert not has(found, "")
    assert name_of("C:\\Users\\nobody\\shop\\") == "shop"


@pytest.mark.parametrize("directory", ["/work/shop\0", "/work/\ud800", "/" + "x" * 5000, "/" + "y/" * 5000])
def test_a_directory_that_cannot_exist_is_a_project_by_its_path(directory, repository_with_worktree):
    """C-28: a transcript may record any text as its directory."""
    assert project_of(directory).directory.rstrip("/") == directory.rstrip("/")
    assert not has(project_of(repository_with_worktree), directory)


def test_a_store_in_a_git_directory_belongs_to_that_project(repository_with_worktree):
    main, linked = repository_with_worktree, repository_with_worktree.parent / "fix"
    store = str(main / ".git" / "scopes")
    assert find_store_project(store, str(linked)).directory == str(main)
    assert find_store_project(store, "/").directory == str(main)
    assert find_store_project("/data/scopes/store.git", str(main)) is None


@pytest.mark.parametrize("content", [b"", b"nonsense", b"gitdir:\0", b"x" * 10_000, b"\xff\xfe"])
def test_a_damaged_git_file_is_no_repository(tmp_path, content):
    (tmp_path / ".git").write_bytes(content)
    assert find_worktree(str(tmp_path)) is None


def test_a_pipe_in_place_of_a_git_file_is_not_waited_for(tmp_path, repository_with_worktree):
    """R5."""
    os.mkfifo(tmp_path / ".git")
    assert find_worktree(str(tmp_path)) is None
    gitdir = repository_with_worktree / ".git" / "worktrees" / "fix" / "gitdir"
    gitdir.unlink()
    os.mkfifo(gitdir)
    assert project_of(repository_with_worktree).worktrees == (str(repository_with_worktree),)


@pytest.mark.parametrize(
    ("directory", "name"),
    [
        ("/gone/cli/.worktrees/2", "cli"),
        ("/gone/cli/worktrees/fix", "cli"),
        ("/gone/cli/.claude/worktrees/brave-fox", "cli"),
        ("/gone/cli/.git/worktrees/2", "cli"),
        ("/gone/cli/.worktrees", ".worktrees"),
        ("/gone/cli/src", "src"),
        ("/worktrees/2", "2"),
    ],
)
def test_a_worktree_that_is_gone_has_the_name_of_its_project(directory, name):
    """It was called `2`."""
    assert find_project(directory).name == name


def test_a_worktree_is_found_with_its_own_and_the_shared_git_directory(tmp_path):
    project = UserProject(tmp_path / "project")
    project.commit("one")
    project.git("worktree", "add", "-q", str(tmp_path / "linked"))
    (tmp_path / "linked" / "deep").mkdir()
    top = str((tmp_path / "project").resolve())
    main, linked = find_worktree(top), find_worktree(str(tmp_path / "linked" / "deep"))
    assert (main.directory, main.git_directory, main.shared) == (top, f"{top}/.git", f"{top}/.git")
    assert (linked.directory, linked.shared) == (str((tmp_path / "linked").resolve()), f"{top}/.git")
    assert linked.git_directory == f"{top}/.git/worktrees/linked"


@pytest.mark.parametrize("directory", ["relative", "/a\0b", "/\ud800", "/nowhere/at/all"])
def test_a_directory_that_is_in_no_repository_has_no_worktree(directory):
    assert find_worktree(directory) is None


@pytest.mark.parametrize("content", ["", "gitdir:", "gitdir: \0", "gitdir: gone/at/all\n", "x" * 9000])
def test_a_git_file_of_another_form_leads_nowhere_outside(tmp_path, content):
    (tmp_path / ".git").write_text(content)
    found = find_worktree(str(tmp_path))
    assert found is None or not os.path.exists(found.git_directory) or found.git_directory == str(tmp_path.resolve())


ENVIRONMENT = {"XDG_DATA_HOME": "/data"}


def test_the_flag_overrides_the_environment_and_the_environment_the_default(tmp_path):
    cwd = str(tmp_path)
    assert choose_store({"SCOPES_STORE": "b", **ENVIRONMENT}, cwd, "a") == str(tmp_path / "a")
    assert choose_store({"SCOPES_STORE": "b", **ENVIRONMENT}, cwd) == str(tmp_path / "b")
    assert choose_store(ENVIRONMENT, cwd) == "/data/scopes/store.git"


def test_the_store_of_a_project_is_used_once_it_exists(tmp_path):
    git(tmp_path / ".git", "init", "-q")
    assert choose_store(ENVIRONMENT, str(tmp_path)) == "/data/scopes/store.git"
    (tmp_path / ".git" / "scopes" / "objects").mkdir(parents=True)
    (tmp_path / "deep" / "down").mkdir(parents=True)
    assert choose_store(ENVIRONMENT, str(tmp_path / "deep" / "down")) == str(tmp_path / ".git" / "scopes")


def test_all_worktrees_share_the_store_of_the_project(tmp_path):
    main, other = tmp_path / "main", tmp_path / "other"
    main.mkdir()
    git(main / ".git", "init", "-q")
    git(main / ".git", "commit", "-q", "--allow-empty", "-m", "x")
    git(main / ".git", "worktree", "add", "-q", str(other))
    assert find_project_store(str(other)) == str(main / ".git" / "scopes")


def test_outside_a_repository_there_is_no_project_store(tmp_path):
    assert find_project_store(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("named", "expected"), [("/data", "/data"), ("data", "/h/.local/share"), ("", "/h/.local/share")]
)
def test_a_relative_data_home_counts_as_unset(named, expected, monkeypatch):
    monkeypatch.setenv("HOME", "/h")
    assert choose_store({"XDG_DATA_HOME": named}, "/") == f"{expected}/scopes/store.git"
