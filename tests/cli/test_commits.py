"""From the installation of git's hooks to the log of a commit, with the commands as a user types them."""

from __future__ import annotations

import json
import os
import re
import time

import pytest

from scopes.code_links.commit_store import CommitRecords
from scopes.store.repository import open_repository
from tests.cli.running import PRODUCT, scopes
from tests.code_links.agent_session import ClaudeSession
from tests.support.pipes import named_pipe
from tests.support.worktrees import Project


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path / "project")
    made.commit("base")
    return made


@pytest.fixture
def run(project):
    """Run scopes in the project and return what it printed; fail unless it ends with the code."""

    def run_in_project(*words, code=0):
        done = scopes(*words, table=PRODUCT, cwd=project.directory)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stdout + done.stderr

    return run_in_project


@pytest.fixture
def session(project, sealed_world):
    folder = sealed_world / ".claude" / "projects" / "-project"
    folder.mkdir(parents=True)
    found = ClaudeSession(project, "")
    found.path = folder / f"{found.session}.jsonl"
    return found


def wait_for(find):
    """Return what a function returns once it is true; commits are recorded in the background."""
    for _ in range(2000):
        found = find()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("nothing was recorded")


def records_of(commit):
    path = os.environ["SCOPES_STORE"]
    return CommitRecords(open_repository(path)).find(commit) if os.path.exists(path) else []


def test_a_commit_is_recorded_in_the_background_and_its_turn_is_shown(project, run, session):
    assert "post-commit" in run("hooks", "install", "git")
    session.prompt("Add one function")
    _, made = session.commit("one function")
    session.say("Done.")
    assert wait_for(lambda: records_of(made))[0].session == session.session
    run("import", str(session.path))
    assert "Add one function" in run("log", "--commit", "HEAD")
    (row,) = run("show", "conv-001", "--commits").splitlines()[:1]
    assert row.split("\t")[:1] + row.split("\t")[2:5] == [made, "made", "certain", "1"]
    assert run("diff", "--commit", "HEAD") == ""


def test_the_hooks_are_listed_and_taken_out_again(project, run):
    before = sorted(os.listdir(f"{project.directory}/.git/hooks"))
    run("hooks", "install", "git", "--trailer")
    assert [line.split("\t")[1] for line in run("hooks", "status", "git").splitlines()] == ["installed"]
    run("hooks", "remove", "git")
    assert sorted(os.listdir(f"{project.directory}/.git/hooks")) == before
    assert [line.split("\t")[1] for line in run("hooks", "status", "git").splitlines()] == ["missing"]


def test_print_shows_scripts_that_a_shell_can_read(project, run):
    for script in run("hooks", "install", "git", "--trailer", "--print").split("#!/bin/sh\n")[1:]:
        assert project.run(["sh", "-n"], stdin=script).stderr == ""
    assert not os.path.exists(f"{project.directory}/.git/scopes-hooks")


def test_the_trailer_is_only_for_git(run):
    assert "--trailer is for the target git only" in run("hooks", "install", "codex", "--trailer", code=2)


def test_a_trailer_names_the_prompt_of_the_running_turn(project, run, session):
    run("hooks", "install", "git", "--trailer")
    session.prompt("Add one function")
    session.commit("one function")
    session.prompt("And another one")
    _, made = session.commit("two function")
    body = project.git("log", "-1", "--format=%(trailers:key=Scopes-Turn,valueonly)").strip()
    assert "And another one" in run("cat", body)
    assert project.git("log", "-1", "--format=%s") == "two function"
    assert "And another one" in run("log", "--commit", made)


@pytest.mark.slow
def test_a_trailer_survives_squashing_and_is_a_claim_then(project, run, session):
    run("hooks", "install", "git", "--trailer")
    project.git("switch", "-q", "-c", "fix")
    session.prompt("Add one function")
    session.shell("echo x > x.txt && git add -A && git commit -q -m 'First part'")
    name = project.git("log", "-1", "--format=%(trailers:key=Scopes-Turn,valueonly)").strip()
    run("import", str(session.path))
    run("hooks", "remove", "git")
    project.git("switch", "-q", "main")
    project.git("merge", "-q", "--squash", "fix")
    project.git("commit", "-q", "--no-edit")
    assert name in project.git("log", "-1", "--format=%B")
    assert project.git("log", "-1", "--format=%(trailers:key=Scopes-Turn,valueonly)").strip() == ""
    assert "perhaps: conv-001" in run("log", "--commit", "HEAD", code=4)


@pytest.mark.parametrize("words", [["--amend", "--no-edit"], ["--amend", "-m", "better words"]])
def test_an_amended_commit_has_one_trailer(project, run, session, words):
    run("hooks", "install", "git", "--trailer")
    session.prompt("Add one function")
    session.commit("one function")
    session.shell(f"git commit -q {' '.join(repr(word) for word in words)}")
    assert len(project.git("log", "-1", "--format=%(trailers:key=Scopes-Turn,valueonly)").split()) == 1


def test_a_person_and_an_unknown_session_get_no_trailer(project, run, session):
    run("hooks", "install", "git", "--trailer")
    project.commit("one")
    project.commit("two", CLAUDECODE="1", CLAUDE_CODE_SESSION_ID="00000000-0000-4000-8000-000000000000")
    project.commit("three", **session.environment, CODEX_THREAD_ID="0199")
    assert "Scopes-Turn" not in project.git("log", "--format=%B")


def test_picked_and_rebased_commits_of_others_get_no_trailer(project, run, session):
    run("hooks", "install", "git", "--trailer")
    session.prompt("Pick it")
    project.git("switch", "-q", "-c", "fix")
    picked = project.commit("by hand")
    project.git("switch", "-q", "main")
    project.commit("elsewhere")
    session.shell(f"git cherry-pick {picked} && git rebase -q --force-rebase HEAD~1")
    assert "Scopes-Turn" not in project.git("log", "--format=%B")


def test_log_and_diff_say_what_is_missing(project, run, session):
    session.prompt("Say hello")
    session.say("Hello.")
    run("import", str(session.path))
    assert "no session is known to have written commit" in run("log", "--commit", "HEAD", code=4)
    assert "the project has no commit 'nowhere'" in run("diff", "--commit", "nowhere", code=4)
    assert "nothing to compare was given" in run("diff", code=2)


@pytest.mark.parametrize(
    ("words", "command", "begin"),
    [
        (["show", "conv-001", "--commits"], "show", "each turn of a link is a row: "),
        (["diff", "--commit", "HEAD"], "diff", "In a pipe each line is a row: "),
        (["diff", "--commit", "HEAD", "--stat"], "diff", "--stat each file: "),
        (["log", "--commit", "HEAD"], "log", "In a pipe each message is a row: "),
    ],
)
def test_the_help_names_as_many_columns_as_a_row_about_commits_has(project, run, session, words, command, begin):
    session.prompt("Add one function")
    session.edit("one.py", "def one_function():\n    return 'the value of one'\n")
    project.write("one.py", "def one_function():\n    return 'another value of one'\n")
    session.shell("git add -A && git commit -q -m 'One function'")
    run("import", str(session.path))
    done = scopes(*words, table=PRODUCT, cwd=project.directory)
    text = " ".join(run("help", "-a", command).split())
    columns = re.split("[.;]", text.partition(begin)[2])[0].split(", ")
    assert len(columns) == len(done.stdout.splitlines()[0].split("\t")) > 1


def test_a_commit_that_was_amended_is_listed_below_the_new_one_and_is_marked(project, run, session):
    run("hooks", "install", "git")
    session.prompt("Add one function")
    _, old = session.commit("one function")
    session.shell("git commit -q --amend -m 'one function, amended'")
    session.say("Done.")
    run("import", str(session.path))
    rows = [line.split("\t") for line in run("show", "conv-001", "--commits").splitlines()]
    states = {row[0]: row[-1] for row in rows}
    assert states == {old: f"replaced by {project.head()}", project.head(): "current"}
    shown = json.loads(run("show", "conv-001", "--commits", "--json"))["commits"]
    assert [each.get("replaced_by") for each in shown if each["is_gone"]] == [project.head()]


@pytest.mark.parametrize("name", ["refs/notes/ai", "packed-refs"])
@pytest.mark.slow
def test_a_pipe_in_place_of_a_ref_is_named_and_nothing_waits_for_it(project, run, session, name):
    session.prompt("Add one function")
    session.commit("one function")
    run("import", str(session.path))
    with named_pipe(f"{project.directory}/.git/{name}"):
        for words in (["show", "conv-001", "--commits"], ["log", "--commit", "HEAD"], ["why", "one.py:1"]):
            assert f"{name}: it is a named pipe" in run(*words, code=8)


@pytest.mark.parametrize("name", ["logs/HEAD", "scopes-hooks/pending/pipe"])
@pytest.mark.slow
def test_a_pipe_that_is_not_needed_changes_nothing(project, run, session, name):
    session.prompt("Add one function")
    _, made = session.commit("one function")
    run("import", str(session.path))
    with named_pipe(f"{project.directory}/.git/{name}"):
        assert run("show", "conv-001", "--commits").startswith(made)
        assert "Add one function" in run("log", "--commit", "HEAD")
