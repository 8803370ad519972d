"""Commits of a project with the lines that they added, whatever the lines and the names of files look like."""

from __future__ import annotations

import pytest

from scopes.code_links import project_commits
from scopes.code_links.project_commits import all_commits, read_project_commits, unquote_path, walk_project_commits
from scopes.code_links.project_git import ProjectGitFailed


def commits(world, *revisions):
    with world.git() as git:
        return list(walk_project_commits(git, revisions or ("HEAD",)))


def added(commit):
    return [(line.path, line.number, line.text) for line in commit.added]


def test_a_commit_has_its_author_times_and_subject(world, project):
    project.write("a.py", "one\n")
    begin = project.clock.now.timestamp()
    name = project.commit("Begin: with a colon\n\nand a body")
    (commit,) = commits(world)
    assert (commit.id, commit.author, commit.subject) == (name, "Alice", "Begin: with a colon")
    assert (commit.author_time, commit.commit_time) == (begin, begin)


def test_added_lines_have_their_place_in_the_new_file(world, project):
    project.write("a.py", "one\ntwo\nthree\n")
    project.commit("Begin")
    project.write("a.py", "zero\none\n2\nthree\nfour\nfive\n")
    project.commit("More")
    more, begin = commits(world)
    assert added(begin) == [("a.py", 1, "one"), ("a.py", 2, "two"), ("a.py", 3, "three")]
    assert added(more) == [("a.py", 1, "zero"), ("a.py", 3, "2"), ("a.py", 5, "four"), ("a.py", 6, "five")]


def test_lines_that_look_like_headers_are_lines(world, project):
    """A hunk says how many lines it has; `+++ b/x` and `@@ -1 +1 @@` may be among them."""
    project.write("a.py", "- a/old\n-- a/old\nkept\n")
    project.commit("Begin")
    project.write("a.py", "++ b/evil.py\n@@ -1 +1,9 @@\ndiff --git a/x b/x\n\x01commit\x01abc\nkept\n")
    project.commit("Headers")
    more = commits(world)[0]
    assert added(more) == [
        ("a.py", 1, "++ b/evil.py"), ("a.py", 2, "@@ -1 +1,9 @@"), ("a.py", 3, "diff --git a/x b/x"),
        ("a.py", 4, "\x01commit\x01abc"),
    ]  # fmt: skip


def test_a_file_without_a_newline_at_its_end_is_read_to_the_end(world, project):
    project.write("a.py", "one\ntwo")
    project.write("b.py", "three\n")
    project.commit("Begin")
    (commit,) = commits(world)
    assert added(commit) == [("a.py", 1, "one"), ("a.py", 2, "two"), ("b.py", 1, "three")]


@pytest.mark.parametrize(
    "name", ["a b.py", "ü.py", 'quo"te.py', "tab\there.py", "back\\slash.py", "new\nline.py", "b/b.py"]
)
def test_the_names_of_files_are_read_as_they_are(world, project, name):
    project.write(name, "one\n")
    project.commit("Begin")
    (commit,) = commits(world)
    assert added(commit) == [(name, 1, "one")]


def test_a_renamed_file_adds_only_its_changed_lines(world, project):
    text = "".join(f"line number {number}\n" for number in range(20))
    project.write("old.py", text)
    project.commit("Begin")
    project.git("mv", "old.py", "new.py")
    project.write("new.py", text.replace("number 7", "number seven"))
    project.commit("Rename")
    assert added(commits(world)[0]) == [("new.py", 8, "line number seven")]


def test_deleted_and_binary_files_add_nothing(world, project):
    project.write("a.py", "one\n")
    project.commit("Begin")
    (project.path / "a.py").unlink()
    (project.path / "data.bin").write_bytes(b"\0\1\2" * 100)
    project.commit("Binary")
    assert added(commits(world)[0]) == []


def test_lines_end_without_carriage_returns_and_bad_bytes_are_replaced(world, project):
    (project.path / "a.py").write_bytes(b"one\r\ntwo \xff\r\n")
    project.commit("Begin")
    assert added(commits(world)[0]) == [("a.py", 1, "one"), ("a.py", 2, "two \ufffd")]


def merge(project, resolved, name="a.py"):
    """Change a line on two branches, and merge them with a text as the resolution."""
    project.write(name, "one\ntwo\nthree\n")
    project.commit("Begin")
    project.git("checkout", "-q", "-b", "topic")
    project.write(name, "one\nTWO\nthree\n")
    project.commit("Topic")
    project.git("checkout", "-q", "main")
    project.write(name, "one\n2\nthree\n")
    project.commit("Two")
    project.git("merge", "-q", "topic", check=False)
    project.write(name, resolved)
    return project.commit("Merge")


def read(world, commit):
    with world.git() as git:
        return read_project_commits(git, [commit])[commit]


def test_the_walk_of_a_project_leaves_merges_out(world, project):
    merge(project, "one\nTWO\nthree\n")
    assert [commit.subject for commit in commits(world)] == ["Two", "Topic", "Begin"]


def test_a_merge_has_the_lines_that_no_merged_commit_has(world, project):
    found = read(world, merge(project, "zero\none\nTWO and 2\nTWO\n- x\n@@@ y\n2\nthree\n"))
    assert (found.subject, found.created) == ("Merge", set())
    lines = [(1, "zero"), (3, "TWO and 2"), (5, "- x"), (6, "@@@ y")]
    assert added(found) == [("a.py", number, text) for number, text in lines]


@pytest.mark.parametrize("resolved", ["one\nTWO\nthree\n", "one\n2\nTWO\nthree\n", "one\nthree\n"])
def test_a_merge_of_which_every_line_is_of_a_merged_commit_adds_none(world, project, resolved):
    assert added(read(world, merge(project, resolved))) == []


def test_a_merge_of_three_branches_is_read_too(world, project):
    project.write("a.py", "one\n")
    base = project.commit("Begin")
    tips = []
    for number in range(3):
        project.git("checkout", "-q", base)
        project.write("a.py", f"one\nof branch {number}\n")
        tips.append(project.commit(f"Branch {number}"))
    project.write("a.py", "of branch 1\none\nof all branches\n")
    project.git("add", "-A")
    tree = project.git("write-tree").strip()
    words = [word for tip in tips for word in ("-p", tip)]
    octopus = project.git("commit-tree", tree, *words, "-m", "Octopus").strip()
    assert added(read(world, octopus)) == [("a.py", 3, "of all branches")]


def test_a_commit_after_a_merge_is_read_as_ever(world, project):
    name = merge(project, "one\nboth\nthree\n")
    project.write("a.py", "one\nboth\nthree\nfour\n")
    last = project.commit("Four")
    with world.git() as git:
        found = read_project_commits(git, [name, last])
    assert [added(found[each]) for each in (name, last)] == [[("a.py", 2, "both")], [("a.py", 4, "four")]]


def test_the_former_names_of_renamed_files_and_the_new_files_are_known(world, project):
    text = "".join(f"line number {number}\n" for number in range(20))
    project.write("lib/ü old.py", text)
    begin = project.commit("Begin")
    project.write("lib/ü old.py", f"{text}one more\n")
    project.git("mv", "lib/ü old.py", "new.py")
    project.write("other.py", "a line\n")
    found = read(world, project.commit("Rename"))
    assert (found.renamed, found.created) == ({"new.py": "lib/ü old.py"}, {"other.py"})
    assert found.names_of("new.py") == ("new.py", "ü old.py")
    assert found.names_of("other.py") == ("other.py",)
    assert read(world, begin).created == {"lib/ü old.py"}


def test_the_commit_of_a_submodule_is_no_line(world, project):
    """`Subproject commit` and an id was listed as a line that no edit has."""
    project.write("a.py", "one\n")
    begin = project.commit("Begin")
    for commit in (begin, "0123456789" * 4):
        project.git("update-index", "--add", "--cacheinfo", f"160000,{commit},sub")
        project.git("commit", "-q", "-m", "Bump sub")
        found = read(world, project.head)
        assert (added(found), found.created) == ([], set())


def test_commits_of_notes_stashes_and_transcripts_are_none_of_the_project(world, project):
    project.write("a.py", "one\n")
    begin = project.commit("Begin")
    for ref in ("refs/notes/commits", "refs/heads/entire/checkpoints/v1", "refs/entire/x", "refs/scopes/x"):
        tree = project.git("rev-parse", "HEAD^{tree}").strip()
        other = project.git("commit-tree", tree, "-m", ref).strip()
        project.git("update-ref", ref, other)
    with world.git() as git:
        assert [commit.id for commit in walk_project_commits(git, all_commits())] == [begin]


def test_named_commits_are_read_in_one_run(world, project):
    names = []
    for number in range(3):
        project.write("a.py", f"{number}\n")
        names.append(project.commit(f"Number {number}"))
    with world.git() as git:
        found = read_project_commits(git, [names[2], names[0]])
    assert {commit.subject for commit in found.values()} == {"Number 2", "Number 0"}


def test_an_unknown_commit_is_an_error(world, project):
    project.write("a.py", "one\n")
    project.commit("Begin")
    with world.git() as git, pytest.raises(ProjectGitFailed):
        read_project_commits(git, ["f" * 40])


def test_of_a_very_large_commit_the_first_lines_are_read_and_all_of_the_wanted_file(world, project, monkeypatch):
    monkeypatch.setattr(project_commits, "MAX_LINES", 3)
    for name in ("a.py", "b.py", "c.py"):
        project.write(name, "one\ntwo\n")
    name = project.commit("Import")
    with world.git() as git:
        (commit,) = read_project_commits(git, [name], {"c.py"}).values()
    assert [line.path for line in commit.added] == ["a.py", "a.py", "b.py", "c.py", "c.py"]


@pytest.mark.parametrize(
    ("printed", "path"),
    [
        (b"src/a.py", "src/a.py"),
        (b'"a\\"b.py"', 'a"b.py'),
        (b'"a\\\\b.py"', "a\\b.py"),
        (b'"a\\tb.py"', "a\tb.py"),
        (b'"\\303\\274.py"', "ü.py"),
        (b'"b/x\\""', 'b/x"'),
        (b'"b/x\\"\\""', 'b/x""'),
        (b'"b/x\\\\"', "b/x\\"),
        (b'"', ""),
        (b'"b\\', "b?"),
    ],
)
def test_a_path_in_quotes_is_unquoted(printed, path):
    assert unquote_path(printed) == path


@pytest.mark.parametrize("date", ["not a date", "99999999999999999999 +0000", "-5 +0000", ""])
def test_a_commit_with_an_impossible_date_is_read(world, project, date):
    """Anybody can write such a commit; git prints no time for it, or another one."""
    project.write("a.py", "one\n")
    project.commit("Begin")
    tree = project.git("rev-parse", "HEAD^{tree}").strip()
    (project.path / "raw").write_text(
        f"tree {tree}\nauthor A\x01B <a> {date}\ncommitter C <c> {date}\n\nBroken \x01 commit\n"
    )
    broken = project.git("hash-object", "-t", "commit", "-w", "--literally", "raw").strip()
    with world.git() as git:
        (commit,) = read_project_commits(git, [broken]).values()
    assert [line.text for line in commit.added] == ["one"]
    project.git("update-ref", "HEAD", broken)
    world.take(world.claude().prompt("hello, is there anything to do?"))
    assert world.line("a.py:1").level == "none"


def test_a_file_whose_name_ends_with_a_quote_or_a_backslash_is_read(world, project):
    for name in ('say "x"', "back\\", "esc\x1b[31m"):
        project.write(name, "a line of text\n")
    commit = project.commit("Odd names")
    with world.git() as git:
        found = read_project_commits(git, [commit])
    assert [line.path for line in found[commit].added] == ["back\\", "esc\x1b[31m", 'say "x"']
