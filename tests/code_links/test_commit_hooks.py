"""Real commits with real hooks: each way to make a commit, and what is recorded of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from scopes.cli.hook_recorder import record_commits
from scopes.code_links.pending_commits import begin_taking
from scopes.conversation.undo import undo
from scopes.errors import ScopesError
from scopes.history.sessions import HOOKS
from scopes.importers.import_sample import SAMPLE_SESSIONS
from scopes.store.operations import walk_operations
from scopes.store.projects import find_worktree
from scopes.store.refs import COMMITS
from scopes.store.repository import Caller
from tests.cli.running import PRODUCT, scopes
from tests.code_links.hooked import CLAUDE, CODEX, Hooked, write_program
from tests.support.pipes import named_pipe
from tests.support.store import assert_sound


@pytest.fixture
def project(hooked):
    return hooked


def who(project, commit):
    return [(record.tool, record.session, record.call_id) for record in project.records().find(commit)]


def test_a_commit_of_codex_is_recorded_with_its_thread_and_call(project):
    made = project.commit("one", **CODEX)
    project.record()
    (record,) = project.records().find(made)
    assert (record.tool, record.session, record.call_id) == ("codex", "0199-thread", "call_7")
    assert (record.subject, record.action, record.root) == ("one", "commit (initial): one", project.directory)
    assert (record.recorded_by, record.is_new_commit) == ("hook", True)
    assert project.pending() == []


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        (CLAUDE, ("claude-code", CLAUDE["CLAUDE_CODE_SESSION_ID"], None)),
        ({"CLAUDECODE": "1"}, ("claude-code", None, None)),
        ({"OPENCODE": "1", "OPENCODE_PID": "7"}, ("opencode", None, None)),
        ({"GEMINI_CLI": "1"}, ("gemini", None, None)),
        ({"QWEN_CODE": "1"}, ("qwen", None, None)),
        ({"PI_CODING_AGENT": "true"}, ("pi", None, None)),
        ({"CODEX_THREAD_ID": "a b; rm -rf $(pwd)"}, ("codex", None, None)),
        ({"CODEX_THREAD_ID": "x" * 500}, ("codex", None, None)),
        ({"CODEX_THREAD_ID": "ok", "CODEX_TOOL_CALL_ID": "a\nend\n"}, ("codex", "ok", None)),
    ],
)
def test_the_environment_tells_the_agent(project, variables, expected):
    made = project.commit("one", **variables)
    project.record()
    assert who(project, made) == [expected]


def test_a_commit_of_a_person_is_not_recorded(project):
    project.commit("one")
    assert project.pending() == []
    assert project.record() is None
    assert not os.path.exists(project.started)


def test_the_environment_of_two_agents_names_both(project):
    made = project.commit("one", **CODEX, **CLAUDE)
    project.record()
    assert sorted(tool for tool, _, _ in who(project, made)) == ["claude-code", "codex"]
    assert all(record.is_shared for record in project.records().find(made))


def test_a_commit_without_verification_is_recorded_too(project):
    made = project.commit("one", "--no-verify", **CODEX)
    project.record()
    assert who(project, made) == [("codex", "0199-thread", "call_7")]


def test_an_amended_commit_is_followed_although_a_person_amended_it(project):
    first = project.commit("one", **CODEX)
    project.git("commit", "-q", "--amend", "-m", "another subject")
    second = project.head()
    project.record()
    assert project.records().list_earlier(second) == [first]
    assert who(project, second) == []


def test_a_rebased_commit_is_followed(project):
    project.commit("base")
    project.git("switch", "-q", "-c", "fix")
    commits = [project.commit("one", **CODEX), project.commit("two", **CLAUDE)]
    project.git("switch", "-q", "main")
    project.commit("elsewhere")
    project.git("rebase", "-q", "main", "fix")
    project.record()
    rebased = project.git("rev-list", "--reverse", "main..fix").split()
    assert [project.records().list_earlier(commit) for commit in rebased] == [[commits[0]], [commits[1]]]


def test_commits_that_are_squashed_are_all_earlier_ones(project):
    project.commit("base")
    commits = [project.commit("one", **CODEX), project.commit("two", **CODEX)]
    project.git("rebase", "-q", "-i", "HEAD~2", GIT_SEQUENCE_EDITOR="sed -i '2s/pick/fixup/'")
    project.record()
    assert sorted(project.records().list_earlier(project.head())) == sorted(commits)


def test_a_commit_that_was_rewritten_twice_is_followed_to_the_first(project):
    first = project.commit("one", **CODEX)
    for subject in ("two", "three"):
        project.record()
        project.git("commit", "-q", "--amend", "-m", subject)
    project.record()
    assert project.records().list_earlier(project.head())[-1] == first


def test_a_picked_commit_has_the_identity_of_the_first_one(project):
    project.commit("base")
    project.git("switch", "-q", "-c", "fix")
    first = project.commit("one", **CODEX)
    project.git("switch", "-q", "main")
    project.commit("elsewhere")
    project.git("cherry-pick", first)
    project.record()
    (record,) = project.records().find(first)
    assert project.records().list_same(record.identity) == [first]
    assert project.git("log", "-1", "--format=%s") == "one"


def test_an_agent_that_picks_a_commit_has_not_made_it_anew(project):
    project.commit("base")
    project.git("switch", "-q", "-c", "fix")
    first = project.commit("one")
    project.git("switch", "-q", "main")
    project.commit("elsewhere")
    project.git("cherry-pick", first, **CODEX)
    project.record()
    (record,) = project.records().find(project.head())
    assert (record.action, record.is_new_commit) == ("cherry-pick: one", False)


def test_a_squash_merge_by_an_agent_is_a_commit_of_its_own(project):
    project.commit("base")
    project.git("switch", "-q", "-c", "fix")
    project.commit("one", **CODEX)
    project.git("switch", "-q", "main")
    project.git("merge", "-q", "--squash", "fix")
    project.git("commit", "-q", "-m", "squashed", **CLAUDE)
    project.record()
    assert who(project, project.head()) == [("claude-code", CLAUDE["CLAUDE_CODE_SESSION_ID"], None)]


def test_a_rebase_of_commits_that_nobody_recorded_stores_nothing(project):
    project.commit("base")
    project.commit("one")
    project.git("rebase", "-q", "--force-rebase", "--root")
    assert len(project.pending()) == 1
    assert project.record() is None
    assert project.pending() == []


@pytest.mark.parametrize("code", [0, 1])
def test_a_hook_that_was_there_runs_with_its_input_and_its_failure_changes_nothing(tmp_path, repository, code):
    project = Hooked(tmp_path / "project", repository, install=False)
    for name in ("post-commit", "post-rewrite"):
        write_program(
            f"{project.directory}/.git/hooks/{name}", f'(echo {name} "$@"; cat) >> "{tmp_path}/ran"; exit {code}\n'
        )
    project.target.install(project.place())
    first = project.commit("one", **CODEX)
    project.git("commit", "-q", "--amend", "-m", "two", **CODEX)
    assert (tmp_path / "ran").read_text() == f"post-commit\npost-commit\npost-rewrite amend\n{first} {project.head()}\n"
    project.record()
    assert who(project, first) == who(project, project.head()) == [("codex", "0199-thread", "call_7")]


def test_a_hook_that_refuses_a_message_still_does(tmp_path, repository):
    project = Hooked(tmp_path / "project", repository, trailer=True, install=False)
    write_program(f"{project.directory}/.git/hooks/prepare-commit-msg", "exit 1\n")
    project.target.install(project.place())
    project.write("one.txt", "1\n")
    project.git("add", "-A")
    assert project.run(["git", "commit", "-q", "-m", "one"], check=False, **CODEX).returncode == 1


def test_scopes_is_started_in_the_background_once_for_commits_in_a_row(project):
    project.commit("base")
    for number in range(5):
        project.commit(f"{number} th", **CODEX)
    project.git("rebase", "-q", "--force-rebase", "HEAD~2", **CODEX)
    assert wait_for_lines(project.started, 1) == ["hooks run git"]
    wait_for_end(Path(project.directory, ".git/scopes-hooks/starting").read_text())
    project.commit("later", **CODEX)
    assert wait_for_lines(project.started, 2) == ["hooks run git"] * 2


def wait_for_end(number):
    with suppress(ProcessLookupError):
        while True:
            os.kill(int(number), 0)
            time.sleep(0.01)


def wait_for_lines(path, count):
    for _ in range(500):
        lines = Path(path).read_text().splitlines() if os.path.exists(path) else []
        if len(lines) >= count:
            break
        time.sleep(0.01)
    return lines


def test_a_program_that_is_gone_or_hangs_holds_no_commit_up(project):
    write_program(project.program, "sleep 60\n")
    began = time.monotonic()
    project.commit("one", **CODEX)
    assert time.monotonic() - began < 30
    os.unlink(project.program)
    made = project.commit("two", **CODEX)
    assert made in [each.commit for each in project.pending()]


def test_a_directory_that_cannot_be_written_fails_no_commit(project):
    directory = f"{project.directory}/.git/scopes-hooks/pending"
    os.rmdir(directory)
    made = project.commit("one", **CODEX)
    assert made == project.head()
    with open(directory, "w", encoding="utf-8"):
        assert project.commit("two", **CODEX) == project.head()
    assert project.pending() == []


def test_a_directory_with_blanks_and_quotes_is_no_problem(tmp_path, repository):
    project = Hooked(tmp_path / "my 'own' $(project)", repository)
    made = project.commit("one", **CODEX)
    project.record()
    assert who(project, made) == [("codex", "0199-thread", "call_7")]


def test_what_was_recorded_is_recorded_once(project):
    project.commit("one", **CODEX)
    pending = project.pending()
    with open(project.path_of(pending[0]), "rb") as file:
        content = file.read()
    assert project.record() is not None
    with open(project.path_of(pending[0]), "wb") as file:  # as if it had been killed before it deleted the file
        file.write(content)
    os.utime(project.path_of(pending[0]), ns=(pending[0].at, pending[0].at))
    assert project.record() is None
    assert project.pending() == []
    assert_sound(project.repository)


def test_a_hook_that_was_killed_leaves_a_file_that_is_ignored_and_goes_later(project):
    project.commit("one", **CODEX)
    (pending,) = project.pending()
    with open(project.path_of(pending), "r+", encoding="utf-8") as file:
        file.truncate(60)
    assert project.record() is None
    assert os.path.exists(project.path_of(pending))
    os.utime(project.path_of(pending), (1, 1))
    project.record()
    assert not os.path.exists(project.path_of(pending))


def test_recording_is_an_operation_that_undo_of_a_user_leaves_alone(project, repository):
    repository.caller = Caller(HOOKS, "scopes hooks run git")
    made = project.commit("one", **CODEX)
    operation = project.record()
    newest = next(iter(walk_operations(repository)))[1]
    assert (newest.id, newest.actor, newest.summary) == (operation, "hooks", f"record commit {made[:8]}")
    undo(repository, operation)
    assert project.records().find(made) == []
    assert repository.find_ref(COMMITS) is None


def test_the_records_can_be_read_with_git(project, repository):
    made = project.commit("one", **CODEX)
    project.record()
    words = ["git", f"--git-dir={repository.path}", "ls-tree", "-r", "--name-only", COMMITS]
    names = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert sum(made in name for name in names) == 3


def test_a_hook_writes_through_no_link_that_came_into_the_git_directory(project, tmp_path):
    (tmp_path / "own").write_text("own")
    folder = os.path.join(project.directory, ".git/scopes-hooks")
    os.symlink(tmp_path / "own", os.path.join(folder, "starting"))
    project.commit("one", **CODEX)
    assert (tmp_path / "own").read_text() == "own"
    assert len(project.pending()) == 1
    os.rename(folder, tmp_path / "moved")
    os.symlink(tmp_path / "moved", folder)
    project.commit("two", **CODEX)
    assert len(os.listdir(tmp_path / "moved/pending")) == 1


def test_a_commit_does_not_wait_for_a_pipe(project):
    with named_pipe(os.path.join(project.directory, ".git/scopes-hooks/starting")):
        project.commit("one", **CODEX)
    assert len(project.pending()) == 1


@pytest.mark.parametrize("content", ["-1\n", "1 2\n", "; exit 1\n", ""])
def test_a_commit_does_not_trust_the_number_of_a_process(project, content):
    path = os.path.join(project.directory, ".git/scopes-hooks/starting")
    with open(path, "w", encoding="ascii") as file:
        file.write(content)
    project.commit("one", **CODEX)
    assert len(project.pending()) == 1
    with open(path, encoding="ascii") as file:
        assert file.read().strip().isdecimal()


def test_a_pipe_among_what_hooks_have_left_is_left_out(project):
    made = project.commit("one", **CODEX)
    with named_pipe(os.path.join(project.directory, ".git/scopes-hooks/pending/pipe")):
        assert [each.commit for each in project.pending()] == [made]
        project.record()
    assert who(project, made) == [("codex", "0199-thread", "call_7")]


@pytest.mark.parametrize("name", ["logs/HEAD", "refs/notes/ai"])
def test_a_commit_is_recorded_without_its_details_if_a_pipe_is_in_place_of_a_file(project, name):
    made = project.commit("one", **CODEX)
    with named_pipe(os.path.join(project.directory, ".git", name)):
        project.record()
    (record,) = project.records().find(made)
    assert (record.tool, record.session) == ("codex", "0199-thread")


@pytest.mark.parametrize("name", ["config", "scopes-hooks/made-hooks-directory"])
def test_the_hooks_are_not_installed_where_a_pipe_is_in_place_of_a_file(tmp_path, repository, name):
    project = Hooked(tmp_path / "project", repository, install=False)
    shutil.rmtree(f"{project.directory}/.git/hooks")
    with named_pipe(os.path.join(project.directory, ".git", name)), pytest.raises(ScopesError):
        project.target.install(project.place())


def left_number(project, number, age_seconds):
    """Leave the number of a process, as a hook that was killed does; return the path of the file."""
    path = Path(project.directory, ".git/scopes-hooks/starting")
    path.write_text(f"{number}\n")
    at = time.time() - age_seconds
    os.utime(path, (at, at))
    return path


@pytest.mark.parametrize("age_seconds", [130, 86400, -3600], ids=["minutes", "day", "future"])
def test_the_number_of_another_process_does_not_keep_scopes_from_being_started(project, age_seconds):
    """A number is given to another process some day, and the git directory may come from somebody else."""
    path = left_number(project, os.getpid(), age_seconds)
    project.commit("one", **CODEX)
    assert wait_for_lines(project.started, 1) == ["hooks run git"]
    assert int(path.read_text()) != os.getpid()


def test_the_number_of_the_group_of_the_hook_is_no_process(project):
    """`kill -0 0` always succeeds."""
    left_number(project, 0, 0)
    project.commit("one", **CODEX)
    assert wait_for_lines(project.started, 1) == ["hooks run git"]


def test_a_process_that_was_just_started_is_waited_for(project):
    path = left_number(project, os.getpid(), 1)
    project.commit("one", **CODEX)
    assert int(path.read_text()) == os.getpid()
    assert not os.path.exists(project.started)


def test_a_commit_after_the_process_has_looked_for_commits_starts_another_one(project, monkeypatch):
    """It would stay unrecorded until the next commit, which may be days later."""
    path = left_number(project, os.getpid(), 1)
    monkeypatch.chdir(project.directory)
    assert record_commits(project.repository.path, dict(os.environ)) == 0
    project.commit("one", **CODEX)
    assert int(path.read_text()) != os.getpid()
    assert wait_for_lines(project.started, 1) == ["hooks run git"]


def test_commits_wait_for_a_store_that_is_gone(project, monkeypatch, tmp_path):
    """A new one in its place took their record, which was lost when its disk was mounted."""
    monkeypatch.chdir(project.directory)
    store, away = project.repository.path, tmp_path / "away.git"
    project.commit("one", **CODEX)
    record_commits(store, dict(os.environ))
    os.rename(store, away)
    project.commit("two", **CODEX)
    record_commits(store, dict(os.environ))
    assert (len(project.pending()), os.path.exists(store)) == (1, False)
    os.rename(away, store)
    record_commits(store, dict(os.environ))
    assert (project.pending(), len(project.records().find(project.head()))) == ([], 1)


def test_an_import_records_the_commits_that_waited(project, monkeypatch, tmp_path):
    """It is the cure that hooks status and doctor name; only the next commit of an agent took them."""
    monkeypatch.chdir(project.directory)
    store, away = project.repository.path, tmp_path / "away.git"
    monkeypatch.setenv("SCOPES_STORE", store)
    made = project.commit("one", **CODEX)
    scopes("list", table=PRODUCT)
    os.rename(store, away)
    os.mkdir(store, mode=0)  # the mount point
    assert record_commits(None, os.environ) == 0
    os.rmdir(store)
    os.rename(away, store)
    assert len(project.pending()) == 1
    monkeypatch.chdir(tmp_path)
    scopes("import", *SAMPLE_SESSIONS, table=PRODUCT)
    assert (project.pending(), who(project, made)) == ([], [("codex", "0199-thread", "call_7")])
    monkeypatch.chdir(project.directory)
    (row,) = json.loads(scopes("setup", "--status", "--only", "hooks", "git", "--json", table=PRODUCT).stdout)["hooks"]
    assert "problem" not in row


def test_only_a_file_with_a_number_is_taken_away_when_the_recording_begins(project, tmp_path):
    top = os.path.join(project.directory, ".git/scopes-hooks")
    mine = tmp_path / "mine"
    mine.write_text("1")
    os.symlink(mine, os.path.join(top, "starting"))
    begin_taking(find_worktree(project.directory))
    assert os.path.islink(os.path.join(top, "starting"))
    os.rename(top, tmp_path / "moved")
    os.symlink(tmp_path / "moved", top)
    os.replace(mine, tmp_path / "moved/starting")
    begin_taking(find_worktree(project.directory))
    assert (tmp_path / "moved/starting").exists()
