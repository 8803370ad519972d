"""Commit objects of a project are read as they are, whatever encoding or form they have."""

from __future__ import annotations

import os
from contextlib import suppress

import pytest

from scopes.code_links.commit_facts import read_commit_facts, resolve_commit
from scopes.code_links.project_git import find_project_repository, open_project_git
from scopes.errors import Inaccessible, NotFound
from tests.support.pipes import named_pipe
from tests.support.worktrees import Project

TURN = "abcdefghijklmnopqrstuvwx23"


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "project")


def facts_of(project, *commits):
    with open_project_git(find_project_repository(project.directory)) as git:
        return read_commit_facts(git, commits)


def write_commit(project, data):
    """Write a commit object as it is, and return its id."""
    return project.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"], stdin=data
    ).stdout.strip()


def test_a_commit_tells_author_time_subject_and_parents(project):
    first = project.commit("one")
    second = project.commit("two words", GIT_AUTHOR_DATE="2026-01-02T03:04:05+0200")
    found = facts_of(project, second)[second]
    assert (found.subject, found.author, found.authored) == ("two words", "alice", "2026-01-02T01:04:05Z")
    assert (found.parents, found.turns) == ((first,), ())


def test_commits_come_in_the_order_in_which_they_were_asked_for_and_once(project):
    commits = [project.commit(f"{number} th") for number in range(3)]
    assert list(facts_of(project, commits[2], commits[0], commits[2], commits[1])) == [
        commits[2],
        commits[0],
        commits[1],
    ]


def test_what_is_missing_or_no_commit_is_left_out(project):
    made = project.commit("one")
    tree, blob = project.git("rev-parse", "HEAD^{tree}", "HEAD:one.txt").split()
    assert list(facts_of(project, "f" * 40, tree, blob, "HEAD", "--all", "", made)) == [made]
    assert facts_of(project) == {}


def test_the_identity_stays_when_a_commit_is_made_again(project):
    project.commit("base")
    project.git("switch", "-q", "-c", "fix")
    first = project.commit("one")
    project.git("switch", "-q", "main")
    project.commit("elsewhere")
    project.git("cherry-pick", first)
    picked = project.head()
    project.git("commit", "-q", "--amend", "-m", "another subject")
    facts = facts_of(project, first, picked, project.head())
    assert facts[first].identity == facts[picked].identity != facts[project.head()].identity


def test_trailers_are_found_anywhere_in_the_text(project):
    for body in (
        f"Scopes-Turn: {TURN}",
        f"text\n\n    Scopes-Turn: {TURN}\n\nmore",
        f"scopes-turn:{TURN}\nSigned-off-by: a",
    ):
        made = project.commit("one", "-m", body, "--allow-empty")
        assert facts_of(project, made)[made].turns == (TURN,)
    made = project.commit("two", "-m", f"see Scopes-Turn: {TURN}\nScopes-Turn: short\nScopes-Turn: {TURN}x")
    assert facts_of(project, made)[made].turns == ()


@pytest.mark.parametrize("author", ["x", "alice <a@b>", "alice <a@b> now +0000", "", "alice <a@b> 5"])
def test_a_commit_with_a_broken_author_is_left_out(project, author):
    project.commit("base")
    tree = project.git("rev-parse", "HEAD^{tree}")
    made = write_commit(project, f"tree {tree}\nauthor {author}\ncommitter a <b> 1 +0000\n\nsubject\n")
    assert facts_of(project, made) == {}


def test_odd_commits_are_read(project):
    project.commit("base")
    tree = project.git("rev-parse", "HEAD^{tree}")
    long = write_commit(
        project, f"tree {tree}\nauthor a <b> 99999999999999 +0000\ncommitter a <b> 1 +0000\n\n\n\n{'x' * 5000}\n"
    )
    empty = write_commit(
        project, f"tree {tree}\nauthor  <> 5 -0700\ncommitter a <b> 1 +0000\ngpgsig -----BEGIN\n line\n\n"
    )
    facts = facts_of(project, long, empty)
    assert (len(facts[long].subject), facts[long].authored) == (200, None)
    assert (facts[empty].subject, facts[empty].authored, facts[empty].author) == ("", "1970-01-01T00:00:05Z", "")


def test_a_revision_is_resolved_as_git_does(project):
    first = project.commit("one")
    second = project.commit("two")
    project.git("tag", "-a", "v1", "-m", "v1", first)
    with open_project_git(find_project_repository(project.directory)) as git:
        assert [resolve_commit(git, text) for text in ("HEAD", "main~1", "v1", second[:8])] == [
            second,
            first,
            first,
            second,
        ]
        for text in ("nowhere", "--help", "HEAD:one.txt", "main..v1", "", "a b"):
            with pytest.raises(NotFound, match="the project has no commit"):
                resolve_commit(git, text)


def resolve(project, *texts):
    with open_project_git(find_project_repository(project.directory)) as git:
        return [resolve_commit(git, text) for text in texts]


def test_a_revision_may_name_an_entry_of_a_reflog(project):
    one, two = project.commit("one"), project.commit("two")
    project.git("switch", "-q", "-c", "feature")
    three = project.commit("three")
    project.git("commit", "-q", "--amend", "-m", "three again")
    amended = project.head()
    texts = ("HEAD@{0}", "HEAD@{1}", "@{1}", "feature@{1}", "feature@{1}~1", "main@{0}", "main@{1}", "@{-1}")
    assert resolve(project, *texts) == [amended, three, three, three, two, two, one, two]
    with pytest.raises(NotFound, match="the project has no commit"):
        resolve(project, "HEAD@{99}")


def test_a_revision_may_name_what_a_command_of_git_left(project):
    one, two = project.commit("one"), project.commit("two")
    project.git("reset", "-q", "--hard", one)
    project.git("fetch", "-q", ".", "main")
    assert resolve(project, "ORIG_HEAD", "FETCH_HEAD", "ORIG_HEAD^") == [two, one, one]


def test_a_revision_may_be_words_of_a_commit_message(project):
    one, _ = project.commit("one thing"), project.commit("two things")
    assert resolve(project, ":/one", "HEAD^{/one}", "main^{/^one}") == [one, one, one]
    with pytest.raises(NotFound):
        resolve(project, ":/nothing of the kind")


def test_reflog_and_heads_are_those_of_the_working_tree(project, tmp_path):
    one = project.commit("one")
    other = Project(tmp_path / "other", create=False)
    project.git("worktree", "add", "-q", "-b", "side", other.directory)
    two = other.commit("two")
    other.git("reset", "-q", "--hard", one)
    assert resolve(other, "HEAD@{1}", "ORIG_HEAD", "side@{1}", "main@{0}") == [two, two, two, one]
    assert resolve(project, "HEAD@{0}") == [one]
    with pytest.raises(NotFound):
        resolve(project, "ORIG_HEAD")


@pytest.mark.parametrize("name", ["logs/HEAD", "logs/refs/heads/pipe"])
def test_a_pipe_in_place_of_a_reflog_is_named_only_if_one_is_needed(project, name):
    one = project.commit("one")
    path = os.path.join(project.directory, ".git", name)
    with suppress(FileNotFoundError):
        os.unlink(path)
    with named_pipe(path):
        assert resolve(project, "HEAD") == [one]
        with pytest.raises(Inaccessible, match="it is a named pipe"):
            resolve(project, "HEAD@{0}")


def test_a_pipe_in_place_of_another_head_is_no_revision(project):
    one = project.commit("one")
    with named_pipe(os.path.join(project.directory, ".git", "ORIG_HEAD")):
        assert resolve(project, "HEAD") == [one]
        with pytest.raises(NotFound):
            resolve(project, "ORIG_HEAD")
