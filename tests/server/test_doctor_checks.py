"""`doctor` says which versions of the protocols fit, and which agents are on this machine (S0-23)."""

from __future__ import annotations

import os
import subprocess
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from scopes.clock import now_nanoseconds
from scopes.live.event_log import EventLog
from scopes.server.acp.acp_events import acp_stats
from scopes.server.doctor_checks import ACP_VERSION, MCP_BELOW, MCP_FROM, check_agents

ROOT = Path(__file__).parent.parent.parent


def checks(path, environ=None):
    """Return the checks by name, for a home without agents unless they are made in `path`."""
    return {check.name: check for check in check_agents(str(path / "state"), environ or {}, str(path))}


def test_without_agents_only_the_protocols_are_checked(tmp_path):
    """S0-23."""
    found = checks(tmp_path)
    assert list(found) == ["acp", "mcp"]
    assert (found["acp"].state, found["acp"].detail) == ("ok", "version 1")


def test_an_agent_of_another_protocol_version_is_a_warning(tmp_path):
    """S0-23."""
    os.makedirs(tmp_path / "state")
    log = EventLog(str(tmp_path / "state"))
    log.set_fields(agent="new-agent")
    log.write("initialize", ways=[], protocol=ACP_VERSION + 1)
    found = checks(tmp_path)["acp"]
    assert (found.state, found.detail) == ("warning", "version 1; new-agent speaks 2")
    assert "may not be recorded" in found.cure
    log.write("initialize", ways=[], protocol=ACP_VERSION)
    assert checks(tmp_path)["acp"].state == "ok", "the last version counts"


def test_a_recording_that_waits_for_its_store_is_a_warning_until_it_goes_on(tmp_path):
    log = EventLog(str(tmp_path / "state"), agent="gemini")
    log.write("store-failed", error="the disk is full")
    found = checks(tmp_path)["acp recording"]
    assert found.detail == f"the recording of gemini (process {os.getpid()}) waits for its store: the disk is full"
    assert (found.state, "nothing is lost" in found.cure) == ("warning", False)
    log.write("spooled", messages=2)
    assert "nothing is lost" in checks(tmp_path)["acp recording"].cure
    log.write("store-recovered")
    assert "acp recording" not in checks(tmp_path)


def test_a_recording_that_waits_names_its_store_which_may_be_another_one(tmp_path):
    log = EventLog(str(tmp_path / "state"), agent="gemini")
    log.write("start", store="/srv/other.git")
    log.write("store-failed", error="the disk is full")
    expected = f"the recording of gemini (process {os.getpid()}) waits for its store /srv/other.git: the disk is full"
    assert checks(tmp_path)["acp recording"].detail == expected
    assert [note.text for note in acp_stats(str(tmp_path / "state")).notes] == [expected]
    log.write("start")
    log.write("store-failed", error="the disk is full")
    assert "its store:" in checks(tmp_path)["acp recording"].detail, "an older version names none"


def test_what_is_only_in_the_memory_of_a_proxy_is_not_called_safe(tmp_path):
    """A full disk takes neither the store nor the spool; it said that nothing is lost."""
    log = EventLog(str(tmp_path / "state"), agent="gemini")
    log.write("spooled", messages=1)
    log.write("store-failed", error="the disk is full")
    log.write("spool-failed", error="no space left")
    found = checks(tmp_path)["acp recording"]
    assert found.detail.endswith("waits for its store: the disk is full")
    assert (
        found.cure == "what waits may be in memory only, and is lost with the process: mend that before the agent ends"
    )
    log.write("spooled", messages=3)
    assert "nothing is lost" in checks(tmp_path)["acp recording"].cure


def test_a_locked_store_without_a_spool_is_a_warning_until_the_store_has_caught_up(tmp_path):
    log = EventLog(str(tmp_path / "state"), agent="gemini")
    log.write("spool-failed", error="no space left")
    found = checks(tmp_path)["acp recording"]
    assert (found.detail.rpartition(": ")[2], "memory" in found.cure) == ("no space left", True)
    log.write("caught-up")
    assert "acp recording" not in checks(tmp_path)


def test_a_locked_store_is_a_warning_until_the_store_has_caught_up(tmp_path):
    """The turns wait in the spool, and the store has not failed: it was no warning."""
    log = EventLog(str(tmp_path / "state"), agent="gemini")
    log.write("recording-slow", error="not in the store after 2 seconds")
    log.write("spooled", messages=2)
    log.write("store-busy")
    found = checks(tmp_path)["acp recording"]
    assert found.detail.endswith(f"(process {os.getpid()}) waits for its store: not in the store after 2 seconds")
    assert "nothing is lost" in found.cure
    [note] = acp_stats(str(tmp_path / "state")).notes
    assert (note.text, note.hint) == (found.detail, found.cure)
    log.write("caught-up")
    assert "acp recording" not in checks(tmp_path)
    assert acp_stats(str(tmp_path / "state")).notes == ()


def test_what_a_process_that_has_ended_waited_for_is_no_warning(tmp_path, monkeypatch):
    """The messages in its spool are counted."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    monkeypatch.setattr("os.getpid", lambda: ended.pid)
    EventLog(str(tmp_path / "state"), agent="gemini").write("store-failed", error="the disk is full")
    assert "acp recording" not in checks(tmp_path)


def test_a_recording_that_ended_is_a_warning_for_a_week(tmp_path, monkeypatch):
    log = EventLog(str(tmp_path / "state"), agent="gemini")
    log.write("store-failed", error="the disk is full")
    log.write("recording-off", error="no space left", not_recorded=3)
    found = checks(tmp_path)["acp recording"]
    assert found.detail.startswith("the recording of gemini ended at 20")
    assert found.detail.endswith(": no space left")
    assert "scopes acp --log" in found.cure
    later = now_nanoseconds() + 8 * 86_400 * 10**9
    monkeypatch.setattr("scopes.server.doctor_checks.now_nanoseconds", lambda: later)
    assert "acp recording" not in checks(tmp_path)


@pytest.mark.parametrize(
    ("installed", "state", "detail"),
    [
        ("2.3.0", "ok", "mcp 2.3.0"),
        ("2.10.1", "ok", "mcp 2.10.1"),
        ("2.2.9", "warning", "mcp 2.2.9 does not fit: a version from 2.3 on, below 3 is needed"),
        ("3.0.0", "warning", "mcp 3.0.0 does not fit: a version from 2.3 on, below 3 is needed"),
    ],
)
def test_the_version_of_the_mcp_package_is_compared_with_those_that_fit(
    tmp_path, monkeypatch, installed, state, detail
):
    """S0-23; A9: it is not imported, which takes longer than everything else."""
    monkeypatch.setattr("scopes.server.doctor_checks.version", lambda _: installed)
    found = checks(tmp_path)["mcp"]
    assert (found.state, found.detail) == (state, detail)
    assert f"mcp>={'.'.join(map(str, MCP_FROM))},<{MCP_BELOW[0]}" in (ROOT / "pyproject.toml").read_text()


def test_without_the_package_the_extra_is_named(tmp_path, monkeypatch):
    def refuse(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("scopes.server.doctor_checks.version", refuse)
    found = checks(tmp_path)["mcp"]
    assert (found.state, found.cure) == ("ok", None)
    assert "scopes-ai[mcp]" in found.detail


def test_installed_agents_and_transcripts_are_listed(tmp_path):
    """S0-23."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "codex").write_text("#!/bin/sh\n")
    os.chmod(tmp_path / "bin" / "codex", 0o755)
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    found = checks(tmp_path, {"PATH": str(tmp_path / "bin")})
    assert found["codex"].detail == str(tmp_path / "bin" / "codex")
    assert found["claude-code"].detail == f"not in PATH, transcripts in {tmp_path}/.claude/projects"
    assert "gemini" not in found
