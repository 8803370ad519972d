"""`import` into the store of a project takes the sessions of that project (G3)."""

from __future__ import annotations

import json

import pytest

from tests.cli.running import PRODUCT, scopes
from tests.support.store import git

SHOP, SITE = "How much is tea?", "Make it blue."


def write_session(home, folder, session, cwd, text, **extra):
    """Write a transcript of Claude Code in its standard directory."""
    record = {
        "type": "user", "uuid": f"u-{session}-{folder}", "parentUuid": None, "isSidechain": False, "sessionId": session,
        "timestamp": "2026-01-01T00:00:00Z", "version": "2.0.0", "cwd": str(cwd),
        "message": {"role": "user", "content": text}, **extra,
    }  # fmt: skip
    path = home / ".claude" / "projects" / folder / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record) + "\n")
    return path


@pytest.fixture
def home(tmp_path):
    """A home with the repositories shop and site, a session in each, one in a worktree of shop; shop has a store."""
    for name in ("shop", "site"):
        (tmp_path / name).mkdir()
        git(tmp_path / name / ".git", "init", "-q")
    git(tmp_path / "shop" / ".git", "commit", "-q", "--allow-empty", "-m", "x")
    git(tmp_path / "shop" / ".git", "worktree", "add", "-q", str(tmp_path / "fix"))
    write_session(tmp_path, "a", "s-1", tmp_path / "shop", SHOP)
    write_session(tmp_path, "b", "s-2", tmp_path / "site", SITE)
    write_session(tmp_path, "c", "s-3", tmp_path / "fix", "Fix it.")
    write_session(tmp_path, "d", "s-4", tmp_path / "shop" / "gone", "Where is it?")
    assert run(tmp_path, "init").returncode == 0
    return tmp_path


def run(home, *words, cwd="shop"):
    env = {"HOME": str(home), "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": "", "SCOPES_STORE": ""}
    return scopes(*words, table=PRODUCT, env=env, cwd=str(home / cwd))


def imported_sessions(home, *words, cwd="shop"):
    """Import, and return the prompts of the conversations in the store with the result."""
    done = run(home, "conv", "import", *words, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    ids = [row["id"] for row in json.loads(done.stdout)["conversations"]]
    prompts = {run(home, "conv", "cat", f"{name}/main", cwd=cwd).stdout.strip().splitlines()[-1] for name in ids}
    return prompts, json.loads(done.stdout)


def test_the_store_of_a_project_takes_its_sessions_and_those_of_its_worktrees(home):
    """G3."""
    prompts, result = imported_sessions(home)
    assert prompts == {SHOP, "Fix it.", "Where is it?"}
    assert result["sessions_of_other_projects"] == 1
    assert result["warnings"] == ["1 session of another project was left out"]


def test_all_projects_are_imported_on_request(home):
    prompts, result = imported_sessions(home, "--project", "all")
    assert SITE in prompts
    assert "sessions_of_other_projects" not in result


def test_another_project_can_be_named(home):
    assert imported_sessions(home, "--project", "../site")[0] == {SITE}
    assert run(home, "conv", "import", "--project", "~").returncode == 2


def test_a_directory_that_is_not_there_is_named(home):
    done = run(home, "import", "--project", str(home / "nope"))
    assert (done.returncode, done.stdout) == (0, "")
    assert f"note: no session is of {home}/nope, which is no directory\n" in done.stderr


def test_a_file_that_is_named_is_imported_whatever_its_project(home):
    assert imported_sessions(home, str(home / ".claude" / "projects" / "b" / "s-2.jsonl"))[0] == {SITE}


def test_the_store_of_the_user_takes_all_projects(home):
    assert len(imported_sessions(home, cwd="site")[0]) == 4


def test_a_sub_agent_that_worked_elsewhere_comes_with_its_session(home):
    extra = {"isSidechain": True, "agentId": "a1"}
    write_session(home, "a/s-1/subagents", "s-1", home / "site", "Look there.", **extra)
    write_session(home, "a", "s-2b", "/Users/nobody", "Elsewhere")
    _, result = imported_sessions(home)
    assert any("subagents" in source["path"] for source in result["sources"])
    assert result["warnings"] == ["2 sessions of other projects were left out"]


def test_only_the_header_is_read_to_decide(home, monkeypatch):
    """A session of another project is left out although its other records are damaged."""
    path = home / ".claude" / "projects" / "b" / "s-2.jsonl"
    path.write_text(path.read_text() + "{broken\n" * 3)
    assert run(home, "conv", "import", "--strict").returncode == 0
    assert run(home, "conv", "import", "--strict", "--project", "all").returncode == 7


def test_a_transcript_without_a_record_yet_is_called_empty(home):
    (home / "e.jsonl").touch()
    done = run(home, "import", str(home / "e.jsonl"))
    assert (done.returncode, done.stdout) == (7, "")
    assert done.stderr.startswith(f"error: {home}/e.jsonl: unknown format: the file is empty\n")


def test_the_sessions_of_a_project_that_was_moved_go_on(home):
    """Its store moves with it, and its sessions name the directory of before."""
    imported_sessions(home)
    path = write_session(home, "a", "s-1", home / "shop", SHOP)
    record = json.loads(path.read_text()) | {"uuid": "more", "parentUuid": "u-s-1-a"}
    record["message"] = {"role": "user", "content": "And milk?"}
    path.write_text(path.read_text() + json.dumps(record) + "\n")
    (home / "shop").rename(home / "store")
    prompts, result = imported_sessions(home, cwd="store")
    assert "And milk?" in prompts
    assert sum(row["new_messages"] for row in result["conversations"]) == 1
