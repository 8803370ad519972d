"""Working trees of one repository: an edit in each of them is a change of one file, as far as messages prove it."""

from __future__ import annotations

import pytest

from scopes.model.working_trees import command_without_working_trees, without_working_tree, working_tree_of

ROOT = "/work/proj"
TREES = [f"{ROOT}/.worktrees/2", f"{ROOT}/.claude/worktrees/fix-it"]
TEXT = "".join(f"line {number}\n" for number in range(1, 41))


@pytest.mark.parametrize(
    ("path", "file", "tree"),
    [
        ("/p/.worktrees/1/a/b", "/p/a/b", "/p/.worktrees/1"),
        ("/p/.claude/worktrees/x/a", "/p/a", "/p/.claude/worktrees/x"),
        ("/p/.claude/worktrees/x/.worktrees/y/a", "/p/a", "/p/.claude/worktrees/x/.worktrees/y"),
        ("/p/.worktrees/1", "/p", "/p/.worktrees/1"),
        ("/.worktrees/1", "/", "/.worktrees/1"),
        ("/p/.worktrees", "/p/.worktrees", ""),
        ("/p/a.worktrees/1/b", "/p/a.worktrees/1/b", ""),
        ("/p/src/a", "/p/src/a", ""),
    ],
)
def test_a_path_in_a_working_tree_is_that_of_the_repository_around_it(path, file, tree):
    assert (without_working_tree(path), working_tree_of(path)) == (file, tree)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("rm .worktrees/1/src/f.py", "rm src/f.py"),
        ("cat > '/a b/.worktrees/2/f.py'", "cat > '/a b/f.py'"),
        ("cd .worktrees/1 && ls", "cd . && ls"),
        ("cd /p/.worktrees/1/src && rm f", "cd /p/src && rm f"),
        ("git -C .claude/worktrees/x checkout .", "git -C . checkout ."),
        ("rm -rf .worktrees/1/", "rm -rf .worktrees/1/"),
        ("cp a.worktrees/1/b c", "cp a.worktrees/1/b c"),
    ],
)
def test_a_command_names_the_files_of_the_repository(command, expected):
    assert command_without_working_trees(command) == expected
