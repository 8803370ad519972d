"""Where lines are from, as git blame says."""

from __future__ import annotations

import os

import pytest

from scopes.code_links.blame import blame
from scopes.code_links.project_git import ProjectGitFailed

FUNCTION = """\
def list_branches(store):
    names = [branch.name for branch in store.branches]
    return sorted(names, key=str.casefold)
"""


def lines(world, path="a.py", place=None, revision="HEAD"):
    with world.git() as git:
        return [(line.number, line.commit, line.path, line.origin) for line in blame(git, revision, path, place)]


def test_every_line_has_its_commit_and_the_place_that_it_had_there(world, project):
    project.write("a.py", "one\ntwo\n")
    first = project.commit("Begin")
    project.write("a.py", "zero\none\ntwo\n")
    second = project.commit("More")
    assert lines(world) == [(1, second, "a.py", 1), (2, first, "a.py", 1), (3, first, "a.py", 2)]


def test_what_blame_says_about_the_commit_needs_no_other_question(world, project):
    project.write("a.py", "one\ntwo\n")
    time = project.clock.now.timestamp()
    project.commit("Begin: all of it")
    with world.git() as git:
        found = blame(git, "HEAD", "a.py")
    assert {(line.author, line.author_time, line.subject) for line in found} == {("Alice", time, "Begin: all of it")}


def test_a_range_of_lines(world, project):
    project.write("a.py", "one\ntwo\nthree\n")
    first = project.commit("Begin")
    assert lines(world, place=(2, 3)) == [(2, first, "a.py", 2), (3, first, "a.py", 3)]


def test_a_renamed_file_is_followed(world, project):
    project.write("a.py", FUNCTION)
    first = project.commit("Begin")
    project.git("mv", "a.py", "b c.py")
    project.commit("Rename")
    assert lines(world, "b c.py")[0] == (1, first, "a.py", 1)


def test_a_function_that_was_moved_to_another_file_is_followed(world, project):
    project.write("a.py", f"begin = 1\n{FUNCTION}")
    project.write("b.py", "other = 1\n")
    first = project.commit("Begin")
    project.write("a.py", "begin = 1\n")
    project.write("b.py", f"other = 1\n\n\n{FUNCTION}")
    project.commit("Move")
    assert lines(world, "b.py")[3:] == [(4, first, "a.py", 2), (5, first, "a.py", 3), (6, first, "a.py", 4)]


def test_a_change_of_white_space_is_not_counted(world, project):
    project.write("a.py", FUNCTION)
    first = project.commit("Begin")
    project.write("a.py", FUNCTION.replace("    ", "\t"))
    project.commit("Tabs")
    assert {commit for _, commit, _, _ in lines(world)} == {first}


def test_commits_that_the_repository_ignores_are_skipped(world, project):
    project.write("a.py", FUNCTION)
    first = project.commit("Begin")
    project.write("a.py", FUNCTION.replace("names", "branch_names"))
    second = project.commit("Rename a variable")
    assert lines(world)[1][1] == second
    project.write(".ignored", f"# noise\n{second}\n")
    project.git("config", "blame.ignoreRevsFile", ".ignored")
    assert lines(world)[1][1] == first


@pytest.mark.parametrize("content", [None, "no commit\n", "f" * 40 + "\n"])
def test_a_missing_or_wrong_file_of_ignored_commits_is_no_error(world, project, content):
    project.write("a.py", FUNCTION)
    first = project.commit("Begin")
    if content is not None:
        project.write(".ignored", content)
    project.git("config", "blame.ignoreRevsFile", ".ignored")
    assert lines(world)[0][1] == first


def test_a_named_pipe_in_place_of_the_ignored_commits_is_not_waited_for(world, project):
    project.write("a.py", FUNCTION)
    first = project.commit("Begin")
    os.mkfifo(project.path / ".ignored")
    project.git("config", "blame.ignoreRevsFile", ".ignored")
    assert lines(world)[0][1] == first


def test_a_file_with_a_name_that_git_quotes(world, project):
    project.write('a"b\t.py', FUNCTION)
    first = project.commit("Begin")
    assert lines(world, 'a"b\t.py')[0] == (1, first, 'a"b\t.py', 1)


def test_a_missing_file_and_a_line_beyond_the_end_are_errors(world, project):
    project.write("a.py", FUNCTION)
    project.commit("Begin")
    with pytest.raises(ProjectGitFailed, match="no such path"):
        lines(world, "b.py")
    with pytest.raises(ProjectGitFailed, match="has only 3 lines"):
        lines(world, place=(9, 9))


@pytest.mark.parametrize(
    "rest", [f"{'a' * 40} 1x 2", f"{'b' * 40} 7 9", "filename other.py", "author Mallory", "\tone more"]
)
def test_what_follows_a_carriage_return_in_a_line_is_no_heading(world, project, rest):
    project.write("a.py", f"one\r{rest}\ntwo\r{rest}\n")
    commit = project.commit("Begin")
    assert lines(world) == [(1, commit, "a.py", 1), (2, commit, "a.py", 2)]
    with world.git() as git:
        assert {line.author for line in blame(git, "HEAD", "a.py")} == {"Alice"}
