"""`scopes setup --only hooks`: install, status, remove, what doctor says, and mistakes."""

from __future__ import annotations

import json
import os
import time

import pytest

from scopes.cli.schemas import read_schemas
from scopes.live.event_log import HOOK_LOG, EventLog
from scopes.live.hook_targets import TARGETS
from tests.cli.running import PRODUCT, scopes
from tests.support.worktrees import Project

jsonschema = pytest.importorskip("jsonschema")
each_target = pytest.mark.parametrize("target", TARGETS)


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    """The hooks of git go into the repository of the current directory, which may not be the one with these tests."""
    found = Project(tmp_path / "project")
    monkeypatch.chdir(found.directory)
    return found


def run(*words, code=0):
    done = scopes(*words, table=PRODUCT)
    assert done.returncode == code, done.stderr
    return done


def read_json(*words, kind):
    document = json.loads(run(*words, "--json").stdout)
    jsonschema.Draft202012Validator(read_schemas()["documents"][kind]).validate(document)
    return document


def files_below(folder):
    return {
        os.path.join(directory, name): (directory, name) for directory, _, names in os.walk(folder) for name in names
    }


def log_of(home):
    return EventLog(str(home / ".local/state/scopes"), file_name=HOOK_LOG, target="codex")


def row_of(target):
    (row,) = read_json("setup", "--status", "--only", "hooks", target, kind="hooks-status")["hooks"]
    return row


@each_target
def test_hooks_come_and_go_without_a_trace(target, sealed_world):
    before = files_below(sealed_world)
    changed = read_json("setup", target, "--only", "hooks", kind="hooks-changed")
    assert [change["state"] for change in changed["changes"]] == ["added"] * len(changed["changes"])
    assert row_of(target)["condition"] == "installed"
    run("setup", target, "--only", "hooks", "--remove")
    assert row_of(target)["condition"] == "missing"
    assert files_below(sealed_world) == before


@each_target
def test_a_dry_run_shows_what_would_be_written_and_writes_nothing(target, sealed_world):
    before = files_below(sealed_world)
    shown = run("setup", target, "--only", "hooks", "--dry-run").stdout
    assert "hooks" in shown
    assert "run" in shown
    assert files_below(sealed_world) == before


@each_target
def test_no_store_is_made_by_installing(target, sealed_world):
    run("setup", target, "--only", "hooks")
    run("setup", "--status", "--only", "hooks")
    assert not os.path.exists(os.environ["SCOPES_STORE"])


@each_target
def test_another_store_makes_the_hooks_outdated(target, tmp_path):
    run("setup", target, "--only", "hooks")
    done = scopes("--store", str(tmp_path / "other.git"), "setup", "--status", "--only", "hooks", target, table=PRODUCT)
    assert done.stdout.split("\t")[1] == "outdated"
    run("--store", str(tmp_path / "other.git"), "setup", target, "--only", "hooks")
    assert row_of(target)["condition"] == "outdated"


@each_target
def test_hooks_without_a_store_of_their_own_follow_the_variable(target, monkeypatch):
    """The agent gives SCOPES_STORE to its hook, so they are not outdated where it is set."""
    store = os.environ["SCOPES_STORE"]
    monkeypatch.delenv("SCOPES_STORE")
    run("setup", target, "--only", "hooks")
    monkeypatch.setenv("SCOPES_STORE", store)
    assert row_of(target)["condition"] == "installed"
    checks = {check["name"]: check for check in json.loads(run("doctor", "--json").stdout)["checks"]}
    assert checks[f"hooks of {target}"]["state"] == "ok"


def test_the_status_lists_every_target_and_only_those_that_are_named():
    rows = read_json("setup", "--status", "--only", "hooks", kind="hooks-status")["hooks"]
    assert [row["target"] for row in rows] == list(TARGETS)
    rows = read_json("setup", "--status", "--only", "hooks", "gemini", "codex", kind="hooks-status")["hooks"]
    assert [row["target"] for row in rows] == ["gemini", "codex"]


def test_the_status_has_the_time_and_the_problem_of_the_last_turn(sealed_world):
    run("setup", "codex", "--only", "hooks")
    assert "last" not in row_of("codex")
    log = log_of(sealed_world)
    log.write("recorded", messages=2)
    log.write("failed", error="the store is busy")
    row = row_of("codex")
    assert row["problem"] == "the store is busy"
    assert row["last"].startswith("20")
    log.write("unchanged", messages=0)
    assert "problem" not in row_of("codex")


def test_a_log_that_is_damaged_is_no_error(sealed_world):
    run("setup", "codex", "--only", "hooks")
    log_of(sealed_world).write("failed", error="x")
    with open(log_of(sealed_world).path, "ab") as file:
        file.write(b'\xff{"event": 1}\n[]\n{"event": "failed"\n')
    assert row_of("codex")["problem"] == "x"


def test_hostile_text_in_the_log_reaches_no_terminal(sealed_world):
    run("setup", "codex", "--only", "hooks")
    log_of(sealed_world).write("failed", error="\x1b]52;c;AAAA\x07 gone")
    assert "\x1b" not in run("setup", "--status", "--only", "hooks", "codex").stdout


def test_doctor_says_nothing_about_hooks_that_are_not_installed():
    names = [check["name"] for check in json.loads(run("doctor", "--json").stdout)["checks"]]
    assert not [name for name in names if name.startswith("hooks of")]


def test_doctor_says_which_hooks_are_installed_outdated_or_unreadable(sealed_world, tmp_path):
    for target in ("claude-code", "codex", "gemini"):
        run("setup", target, "--only", "hooks")
    run("--store", str(tmp_path / "other.git"), "setup", "codex", "--only", "hooks")
    (sealed_world / ".gemini/settings.json").write_text("// mine")
    checks = json.loads(run("doctor", "--json").stdout)["checks"]
    found = {check["name"]: (check["state"], check.get("cure")) for check in checks}
    assert found["hooks of claude-code"] == ("ok", None)
    assert found["hooks of codex"] == ("warning", "scopes setup codex --only hooks")
    assert found["hooks of gemini"][0] == "warning"


def test_an_unknown_agent_is_a_mistake_with_the_names_of_those_that_are_known():
    for option in ("--force", "--remove", "--status"):
        done = run("setup", "emacs", option, code=2)
        assert all(name in done.stderr for name in TARGETS)


def test_a_file_with_comments_is_refused_with_the_way_out(sealed_world):
    (sealed_world / ".claude").mkdir()
    (sealed_world / ".claude/settings.json").write_text("{} // mine\n")
    done = run("setup", "claude-code", "--only", "hooks", code=1)
    assert "--dry-run" in done.stderr
    assert (sealed_world / ".claude/settings.json").read_text() == "{} // mine\n"


def test_the_command_that_hooks_run_is_no_command_for_people():
    """It is in no list of commands, and without an agent it is not one."""
    assert "hooks run" not in run("help", "--all").stdout
    assert scopes("hooks", "run", table=PRODUCT).returncode == 2


def test_codex_users_are_asked_to_trust_the_hook():
    assert "trust" in read_json("setup", "codex", "--only", "hooks", kind="hooks-changed")["advice"]


@each_target
def test_in_a_pipe_what_is_left_to_do_is_a_note(target):
    done = run("setup", target, "--only", "hooks")
    assert all(os.path.isabs(line) for line in done.stdout.splitlines())
    if target == "git":
        assert done.stderr == ""
        return
    assert done.stderr.startswith("note: ")
    assert ("trust" if target == "codex" else "start them again") in done.stderr
    assert "start them again" not in run("setup", target, "--only", "hooks").stderr


@each_target
def test_in_a_pipe_a_note_says_that_nothing_was_done(target):
    absent = run("setup", target, "--only", "hooks", "--remove")
    assert absent.stderr == f"note: {absent.stdout.rstrip()} has no hooks of scopes\n"
    run("setup", target, "--only", "hooks")
    same = run("setup", target, "--only", "hooks")
    notes = [f"note: {file} has these hooks already" for file in same.stdout.splitlines()]
    assert same.stderr.splitlines() == notes
    assert "has no hooks" not in run("setup", target, "--only", "hooks", "--remove").stderr


def test_in_a_pipe_a_note_says_that_a_server_or_a_skill_is_as_before():
    assert "has no entry of scopes" in run("setup", "codex", "--only", "mcp", "--remove").stderr
    run("setup", "codex", "--only", "mcp")
    assert "has this entry already" in run("setup", "codex", "--only", "mcp").stderr
    assert "does not exist" in run("setup", "codex", "--only", "skill", "--remove").stderr
    run("setup", "codex", "--only", "skill")
    assert "is up to date" in run("setup", "codex", "--only", "skill").stderr


def test_each_script_that_is_shown_is_named(project):
    shown = run("setup", "git", "--only", "hooks", "--dry-run").stdout
    names = [line for line in shown.splitlines() if line.startswith(f"# {project.directory}/.git/hooks/post-")]
    assert [os.path.basename(name) for name in names] == ["post-commit", "post-rewrite"]
    assert shown.startswith("# ")
    json.loads(run("setup", "codex", "--only", "hooks", "--dry-run").stdout)


@each_target
def test_status_and_doctor_name_the_store_of_an_outdated_hook(target, tmp_path):
    other = str(tmp_path / "other.git")
    run("--store", other, "setup", target, "--only", "hooks")
    done = run("setup", "--status", "--only", "hooks", target)
    assert f"it records into {other}, not {os.environ['SCOPES_STORE']}" in done.stdout.split("\t")[3]
    assert f"scopes setup {target} --only hooks" in done.stderr
    checks = {check["name"]: check for check in json.loads(run("doctor", "--json").stdout)["checks"]}
    assert other in checks[f"hooks of {target}"]["detail"]


@each_target
def test_a_hook_whose_store_is_gone_is_not_to_be_installed_again(target, tmp_path, monkeypatch):
    """Its disk is not mounted. Without SCOPES_STORE the hook looks outdated, and a new one would use another store."""
    store, away = str(tmp_path / "other.git"), str(tmp_path / "away.git")
    monkeypatch.delenv("SCOPES_STORE")
    run("--store", store, "setup", target, "--only", "hooks")
    run("--store", store, "new", "Title")
    run("--store", store, "list")
    assert row_of(target)["cure"] == f"scopes setup {target} --only hooks"
    os.rename(store, away)
    row = row_of(target)
    assert (row["condition"], row["detail"].endswith(f"the store {store} is gone")) == ("outdated", True)
    assert row["cure"].startswith("mount its disk, or move it back")
    error = run("setup", "--status", "--only", "hooks", target).stderr
    assert ("mount its disk" in error, f"setup {target}" in error) == (True, False)
    check = doctor_check(target)
    assert (check["state"], check["cure"]) == ("warning", row["cure"])
    assert (
        f"the store {store} is gone"
        in json.loads(run("--store", store, "setup", "--status", "--only", "hooks", target, "--json").stdout)["hooks"][
            0
        ]["detail"]
    )
    os.rename(away, store)
    assert row_of(target)["cure"] == f"scopes setup {target} --only hooks"


def test_to_remove_hooks_from_a_file_with_comments_the_advice_can_be_followed(sealed_world):
    (sealed_world / ".claude").mkdir()
    (sealed_world / ".claude/settings.json").write_text("{} // mine\n")
    done = run("setup", "claude-code", "--only", "hooks", "--remove", code=1)
    assert "--dry-run" not in done.stderr
    assert "hint: remove it yourself" in done.stderr


def doctor_check(target):
    checks = json.loads(run("doctor", "--json").stdout)["checks"]
    return next((check for check in checks if check["name"] == f"hooks of {target}"), None)


def test_problems_of_the_settings_and_of_a_session_are_both_shown_the_settings_first(sealed_world):
    log_of(sealed_world).write("failed", error="the store is busy")
    (sealed_world / ".codex").mkdir()
    (sealed_world / ".codex/hooks.json").write_text("{} // mine\n")
    check = doctor_check("codex")
    assert check["detail"].index("is not plain JSON") < check["detail"].index("the store is busy")
    assert check["cure"] == "fix the file; scopes import"
    problem = run("setup", "--status", "--only", "hooks", "codex").stdout.split("\t")[3]
    assert problem.index("is not plain JSON") < problem.index("the store is busy")
    row = row_of("codex")
    assert ("plain JSON" in row["detail"], row["problem"]) == (True, "the store is busy")


def test_a_problem_of_an_outdated_hook_is_shown_too(sealed_world, tmp_path):
    run("--store", str(tmp_path / "other.git"), "setup", "codex", "--only", "hooks")
    log_of(sealed_world).write("failed", error="the store is busy")
    check = doctor_check("codex")
    assert check["detail"].startswith("outdated: ")
    assert check["detail"].endswith("the last turn was not recorded: the store is busy")
    assert check["cure"] == "scopes setup codex --only hooks; scopes import"


def test_the_problem_of_hooks_that_were_removed_is_shown_no_more(sealed_world):
    run("setup", "codex", "--only", "hooks")
    log_of(sealed_world).write("failed", error="the store is busy")
    assert doctor_check("codex")["state"] == "warning"
    run("setup", "codex", "--only", "hooks", "--remove")
    assert doctor_check("codex") is None
    assert "problem" not in row_of("codex")


@pytest.mark.parametrize("unusable", [True, None])
def test_an_import_is_advised_only_if_it_can_help(sealed_world, unusable):
    run("setup", "codex", "--only", "hooks")
    log_of(sealed_world).write("failed", error="no known format", unusable=unusable)
    assert (doctor_check("codex")["cure"] == "scopes import") is not unusable


def test_commits_that_were_not_recorded_need_no_import(project, sealed_world):
    run("setup", "git", "--only", "hooks")
    log = EventLog(str(sealed_world / ".local/state/scopes"), file_name=HOOK_LOG, target="git")
    log.write("failed", error="busy", repository="/another/.git")
    assert doctor_check("git")["state"] == "ok"
    log.write("failed", error="busy", repository=os.path.join(project.directory, ".git"))
    check = doctor_check("git")
    assert (check["detail"], "scopes import" in check["cure"]) == ("the last commits were not recorded: busy", False)
    log.write("recorded", repository="/another/.git")
    assert row_of("git")["problem"] == "busy"
    log.write("recorded", repository=os.path.join(project.directory, ".git"))
    assert doctor_check("git")["state"] == "ok"


def wait_for_row(target, accepts):
    for _ in range(600):
        row = row_of(target)
        if accepts(row):
            return row
        time.sleep(0.05)
    raise AssertionError(row)


def test_the_status_of_git_has_the_time_of_the_last_recorded_commit_and_the_reason_of_a_failure(project):
    run("setup", "git", "--only", "hooks")
    assert "last" not in row_of("git")
    store = os.environ["SCOPES_STORE"]
    with open(store, "w", encoding="utf-8"):
        pass
    project.commit("one", CODEX_THREAD_ID="0199-thread")
    failed = wait_for_row("git", lambda row: "problem" in row)
    os.unlink(store)
    run("hooks", "run", "git")
    row = wait_for_row("git", lambda row: "problem" not in row)
    assert failed["last"] < row["last"]
    assert run("setup", "--status", "--only", "hooks", "git").stdout.split("\t")[2].startswith("20")
    assert "by the session 0199-thread of codex" in run("log", "--commit", "HEAD", code=4).stderr
