"""Working trees of one repository: an edit in each of them is a change of one file, as far as messages prove it."""

from __future__ import annotations

import subprocess

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.conflicts import list_conflicts, show_conflict
from scopes.conversation.merge import merge
from scopes.conversation.new import new
from scopes.model.working_trees import without_working_tree
from tests.support.history import say
from tests.support.tool_calls import call_tool

ROOT = "/work/proj"
TREES = [f"{ROOT}/.worktrees/2", f"{ROOT}/.claude/worktrees/fix-it"]
TEXT = "".join(f"line {number}\n" for number in range(1, 41))


def forked(repository, directory=ROOT):
    new(repository, directory=directory)
    say(repository, "conv-001", "fix it")
    branch(repository, "conv-001", name="alt", switch=False)


def edit(repository, where, path, line, value="x", before=TEXT):
    arguments = {"file_path": path, "old_string": f"line {line}\n", "new_string": f"{value}\n"}
    structured = {"filePath": path, "originalFile": before}
    call_tool(repository, f"conv-001/{where}", "Edit", arguments, structured=structured)


def run(repository, where, command):
    call_tool(repository, f"conv-001/{where}", "Bash", {"command": command}, exit_code=0)


def compared(repository):
    found = merge(repository, "conv-001", "alt", target="main", dry_run=True).files
    return [(file.path, file.outcome) for file in found]


def outcome_of_git(tmp_path, base, target, source):
    """Merge two texts with git; return the outcome that scopes must find."""
    for name, text in (("base", base), ("target", target), ("source", source)):
        (tmp_path / name).write_text(text)
    command = ["git", "merge-file", "-p", "target", "base", "source"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    return "same" if target == source else "compatible" if done.returncode == 0 else "overlap"


@pytest.mark.parametrize(("line", "outcome"), [(3, "overlap"), (30, "compatible")])
def test_two_working_trees_of_one_repository_have_one_file(repository, line, outcome):
    forked(repository)
    edit(repository, "main", f"{TREES[0]}/src/f.py", 3)
    edit(repository, "alt", f"{TREES[1]}/src/f.py", line, "y")
    assert compared(repository) == [("src/f.py", outcome)]


@pytest.mark.parametrize(("line", "outcome"), [(3, "overlap"), (30, "compatible")])
def test_both_sides_in_the_same_working_tree_are_compared(repository, line, outcome):
    forked(repository)
    edit(repository, "main", f"{TREES[0]}/src/f.py", 3)
    edit(repository, "alt", f"{TREES[0]}/src/f.py", line, "y")
    assert compared(repository) == [("src/f.py", outcome)]


@pytest.mark.parametrize(
    "path",
    [
        "/work/proj-wt/src/f.py",  # nothing in the messages shows that this is a working tree of the repository
        "/work/other/.worktrees/2/src/f.py",
        f"{ROOT}/worktrees/2/src/f.py",
        f"{ROOT}/.worktrees/src",
        f"{ROOT}/.worktrees/2/lib/src/f.py",
    ],
)
def test_a_directory_with_an_unknown_relation_is_not_taken_for_a_working_tree(repository, path):
    forked(repository)
    edit(repository, "main", f"{ROOT}/src/f.py", 3)
    edit(repository, "alt", path, 3, "y")
    assert compared(repository) == []


@pytest.mark.parametrize(
    "command", ["rm -rf .worktrees/2", f"git worktree remove {TREES[0]}", "git worktree add .worktrees/3", "git status"]
)
def test_making_or_removing_a_working_tree_does_not_change_the_file(repository, command):
    """A branch keeps its files when its working tree is removed."""
    forked(repository)
    edit(repository, "main", f"{ROOT}/src/f.py", 3)
    run(repository, "main", command)
    edit(repository, "alt", f"{ROOT}/src/f.py", 30)
    assert compared(repository) == [("src/f.py", "compatible")]


def test_a_conflict_between_working_trees_is_shown_with_the_lines_of_both(repository):
    forked(repository)
    edit(repository, "main", f"{ROOT}/src/f.py", 3, "ours")
    edit(repository, "alt", f"{TREES[0]}/src/f.py", 3, "theirs")
    assert merge(repository, "conv-001", "alt", target="main").conflicts
    [row] = list_conflicts(repository, "conv-001", include_all=True).conflicts
    view = show_conflict(repository, "conv-001", row.conflict.id)
    assert row.conflict.key == "files/src/f.py"
    assert "+ours\n" in view.file.target_patch
    assert "+theirs\n" in view.file.source_patch


def test_the_direction_of_the_merge_does_not_change_the_outcome(repository):
    forked(repository)
    edit(repository, "main", f"{ROOT}/src/f.py", 3)
    edit(repository, "alt", f"{TREES[0]}/src/f.py", 3, "y")
    there = merge(repository, "conv-001", "main", target="alt", dry_run=True).files
    assert [(file.path, file.outcome) for file in there] == compared(repository) == [("src/f.py", "overlap")]


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("/p/.worktrees/1/a/b", "/p/a/b"),
        ("/p/.claude/worktrees/x/a", "/p/a"),
        ("/p/.claude/worktrees/x/.worktrees/y/a", "/p/a"),
        ("/p/.worktrees/1", "/p"),
        ("/.worktrees/1", "/"),
        ("/p/.worktrees", "/p/.worktrees"),
        ("/p/a.worktrees/1/b", "/p/a.worktrees/1/b"),
        ("/p/src/a", "/p/src/a"),
    ],
)
def test_a_path_in_a_working_tree_is_that_of_the_repository_around_it(path, file):
    assert without_working_tree(path) == file
