"""The file of a session is found by the agent's id of it, in the standard folders of the agent."""

from __future__ import annotations

import pytest

from scopes.importers.discovery import find_session_file
from scopes.importers.formats.registry import FORMATS

THREAD = "01a2157e-d70f-7c52-8e27-5916229d7d14"


@pytest.mark.parametrize(
    ("target", "name", "variable"),
    [
        ("codex", f".codex/sessions/2026/11/26/rollout-2026-11-26T01-36-03-{THREAD}.jsonl", "CODEX_HOME"),
        ("claude-code", f".claude/projects/-work-shop/{THREAD}.jsonl", "CLAUDE_CONFIG_DIR"),
        ("pi", f".pi/agent/sessions/--work-shop--/2026-11-26T01-36-03-000Z_{THREAD}.jsonl", "PI_CODING_AGENT_DIR"),
    ],
)
def test_the_file_of_a_session_is_found_where_its_agent_keeps_it(tmp_path, target, name, variable):
    (tmp_path / name).parent.mkdir(parents=True)
    assert find_session_file(FORMATS, target, THREAD, {}, str(tmp_path)) is None
    (tmp_path / name).touch()
    assert find_session_file(FORMATS, target, THREAD, {}, str(tmp_path)) == str(tmp_path / name)
    assert find_session_file(FORMATS, target, THREAD, {variable: str(tmp_path / "other")}, str(tmp_path)) is None
    moved = {variable: str(tmp_path / name.partition("/")[0] / ("agent" if target == "pi" else ""))}
    assert find_session_file(FORMATS, target, THREAD, moved, "/nowhere") == str(tmp_path / name)


@pytest.mark.parametrize("session", ["../../x", "", "*", "a/b", "x" * 65])
def test_a_session_id_that_could_be_a_path_is_not_looked_for(tmp_path, session):
    (tmp_path / ".claude/projects/x").mkdir(parents=True)
    assert find_session_file(FORMATS, "claude-code", session, {}, str(tmp_path)) is None


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("gemini", f".gemini/tmp/shop/chats/session-2026-11-26T01-36-{THREAD[:8]}.jsonl"),
        ("qwen", f".qwen/projects/-work-shop/chats/{THREAD}.jsonl"),
    ],
)
def test_the_file_of_a_session_is_found_among_the_chats_of_its_project(tmp_path, target, name):
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).with_name("session-2026-11-26T01-36-ffffffff.jsonl").touch()
    assert find_session_file(FORMATS, target, THREAD, {}, str(tmp_path)) is None
    (tmp_path / name).touch()
    assert find_session_file(FORMATS, target, THREAD, {}, str(tmp_path)) == str(tmp_path / name)


def test_an_agent_whose_sessions_are_in_no_files_is_not_searched(tmp_path):
    assert find_session_file(FORMATS, "opencode", THREAD, {}, str(tmp_path)) is None


def test_an_archived_session_of_codex_is_not_taken_for_one_of_a_day(tmp_path):
    """The files in `archived_sessions` are not in directories of days, and the session is over."""
    (tmp_path / ".codex/archived_sessions").mkdir(parents=True)
    (tmp_path / f".codex/archived_sessions/rollout-2026-11-26T01-36-03-{THREAD}.jsonl").touch()
    assert find_session_file(FORMATS, "codex", THREAD, {}, str(tmp_path)) is None


def test_the_newest_file_of_a_thread_of_codex_is_taken(tmp_path):
    for day in ("25", "26"):
        folder = tmp_path / f".codex/sessions/2026/11/{day}"
        folder.mkdir(parents=True)
        (folder / f"rollout-2026-11-{day}T01-36-03-{THREAD}.jsonl").touch()
    found = find_session_file(FORMATS, "codex", THREAD, {}, str(tmp_path))
    assert found == str(tmp_path / f".codex/sessions/2026/11/26/rollout-2026-11-26T01-36-03-{THREAD}.jsonl")


def test_an_agent_without_a_format_has_no_files(tmp_path):
    assert find_session_file(FORMATS, "emacs", THREAD, {}, str(tmp_path)) is None
