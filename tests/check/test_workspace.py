"""Paths of a transcript against its workspaces, on whatever system it was recorded, and the run that has them."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.check.workspace import is_outside, path_in_workspaces, relative_to, resolve
from tests.check.made_runs import FAILED, edit, judge, make_run, shell, write

NAMES = st.lists(st.sampled_from(["a", "b", "src", "x y"]), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("path", "workspace", "relative"),
    [
        ("/w/a", "/w", "a"),
        ("/w", "/w", "."),
        ("/w", "/w/", "."),
        ("/w/a/b", "/w/", "a/b"),
        ("/wa", "/w", None),
        ("/", "/w", None),
        ("/a", "/", "a"),
        ("~/a", "/w", None),
        ("/w/a", None, None),
        ("C:\\w\\a\\b", "C:\\w", "a/b"),
        ("c:\\W\\a", "C:\\w\\", "a"),
        ("C:/w/a", "C:\\w", "a"),
        ("D:\\w\\a", "C:\\w", None),
        ("\\\\host\\share\\a", "\\\\host\\share", "a"),
        ("/w/a", "C:\\w", None),
        ("C:\\w", "/w", None),
    ],
)
def test_a_path_is_relative_to_the_workspace_around_it(path, workspace, relative):
    assert relative_to(path, workspace) == relative


@given(NAMES, NAMES)
def test_resolving_a_relative_path_and_relating_it_again_gives_it_back(directory, names):
    workspace, path = "/" + "/".join(directory), "/".join(names)
    assert relative_to(resolve(path, workspace), workspace) == path
    assert resolve(path, workspace) == posixpath.join(workspace, path)
    assert is_outside(path, workspace, [workspace]) is False
    assert is_outside(f"{workspace}x/{path}", workspace, [workspace]) is True


@pytest.mark.parametrize(
    ("path", "directory", "workspaces", "outside"),
    [
        ("a", "/w", ["/w"], False),
        ("../a", "/w", ["/w"], True),
        ("../a", "/w/x", ["/w"], False),
        ("/v/a", "/w", ["/w", "/v"], False),
        ("~/a", "/w", ["/w"], True),
        ("~/a", None, [], True),
        ("a", None, ["/w"], None),
        ("/a", None, [], None),
        ("a\\b", "C:\\w", ["C:\\w"], False),
        ("..\\b", "C:\\w", ["C:\\w"], True),
        ("C:\\Temp\\b", "C:\\w", ["C:\\w"], True),
    ],
)
def test_a_path_is_outside_if_no_workspace_is_around_it(path, directory, workspaces, outside):
    assert is_outside(path, directory, workspaces) is outside


@pytest.mark.parametrize(
    ("path", "directory", "workspaces", "inside"),
    [
        ("a", None, ["/w"], "a"),
        ("a", "/w/x", ["/w"], "x/a"),
        ("/w/x/a", None, ["/w", "/w/x"], "a"),
        ("/v/a", None, ["/w"], None),
        ("~/a", None, ["/w"], None),
        ("~/a", None, [], "~/a"),
        ("a", "/w", [], "a"),
    ],
)
def test_a_path_is_named_relative_to_the_innermost_workspace(path, directory, workspaces, inside):
    assert path_in_workspaces(path, directory, workspaces) == inside


@pytest.mark.parametrize(
    ("command", "result", "added"),
    [
        ("git worktree add ../fix", 0, ["/home/dev/fix"]),
        ("git worktree add -b fix ../fix main", 0, ["/home/dev/fix"]),
        ("git worktree add --reason x --lock ../fix", 0, ["/home/dev/fix"]),
        ("git -C .. worktree add fix", 0, ["/home/dev/fix"]),
        ("cd .. && git worktree add fix", 0, ["/home/dev/fix"]),
        ("git worktree add .worktrees/fix", 0, ["/home/dev/shop/.worktrees/fix"]),
        ("git worktree add ../fix", FAILED, []),
        ("git worktree add ~/fix", 0, []),
        ("git worktree add $x", 0, []),
        ("git worktree add ..", 0, []),
        ("git worktree add /etc/fix", 0, []),
        ("git worktree remove ../fix", 0, []),
        ("echo git worktree add ../fix", 0, []),
    ],
)
def test_a_worktree_that_the_run_adds_is_a_workspace(command, result, added):
    assert make_run(shell(command, result)).workspaces == ("/home/dev/shop", *added)


@pytest.mark.parametrize(
    ("before", "directory", "added"),
    [
        (None, "/home/dev/fix", True),
        ("ls", "/home/dev/fix", True),
        ("cd ../fix", "/home/dev/fix", False),
        ("cd ../fix && ls", "/home/dev/fix", False),
        ("cd ../other", "/home/dev/fix", True),
        ("cd $x", "/home/dev/fix", False),
        ("popd", "/home/dev/fix", False),
        ("bash -c 'cd ../fix'", "/home/dev/fix", False),
        (None, "/home/dev", False),
        (None, "/etc", False),
        (None, "/", False),
        (None, None, False),
    ],
)
def test_a_directory_is_a_workspace_unless_the_agent_went_there_or_it_is_too_wide(before, directory, added):
    steps = [*([shell(before)] if before else []), edit("a", directory=directory)]
    assert make_run(*steps).workspaces == ("/home/dev/shop", *([directory] if added else []))


def test_without_a_directory_there_is_no_workspace():
    assert make_run(shell("git worktree add /x"), directory=None).workspaces == ()


def test_the_final_text_is_the_last_one_of_an_agent_that_has_words():
    assert make_run("One.", "Two.", ("human", "Three."), "  \n").final_text.text == "Two."
    assert make_run(("human", "One.")).final_text is None


def test_the_root_directory_is_no_workspace():
    """A transcript that states it, or a home, would make every file one of the workspace: all is outside then."""
    run = make_run(write("/home/dev/a.py"), write("/tmp/a"), shell("rm -rf /home/dev/a"), directory="/")
    assert run.workspaces == ()
    (finding,) = judge("files/outside-workspace", run, allow=["/tmp/**"]).findings
    assert finding.message == "writes /home/dev/a.py, and /, in which the run began, is not a workspace"
    (finding,) = judge("shell/recursive-delete", run, allow=[]).findings
    assert finding.message == "deletes a path outside of the workspace: /home/dev/a"
