"""What an agent runs and edits behind the proxy is that to `why`, `check` and all others that read commands and edits.

ACP has a kind of tool for them, `execute`, and no name. Some agents give the arguments of a call, as opencode does; of
others the title is all, as of Gemini CLI.
"""

from __future__ import annotations

import json

import pytest

from scopes.history.activity import find_test_command
from scopes.model.tools import command_of
from tests.cli.running import PRODUCT, scopes
from tests.support.worktrees import Project

AGENTS = pytest.mark.parametrize("profile", [{"raw": True}, {}], ids=["arguments", "title"])


def run(desk, *commands, **profile):
    """Let the agent run each command in a turn of its own."""
    desk.run(*(f"shell {command}" for command in commands), cwd=str(desk.project), **profile)


def calls(desk):
    return [part for message in desk.messages() for part in message.parts if part.type == "tool_call"]


@AGENTS
def test_the_command_of_a_call_is_known(desk, profile):
    run(desk, "echo hello", "python -m pytest -q", **profile)
    assert [command_of(call) for call in calls(desk)] == ["echo hello", "python -m pytest -q"]
    assert [find_test_command(call) for call in calls(desk)] == [None, "python -m pytest -q"]


@AGENTS
@pytest.mark.slow
def test_why_names_the_command_that_wrote_a_file(desk, profile):
    """No edit has the line: the file is the output of a program."""
    project = Project(desk.project)
    project.commit("one")
    project.git("config", "user.name", "stub")
    project.git("config", "user.email", "stub@example.org")
    write = "printf 'Austria takes 20 percent\\n' > rates.txt"
    run(desk, write, "git add -A && git commit -q -m 'List the tax rates'", **profile)
    done = scopes("why", "rates.txt:1", "--json", table=PRODUCT, cwd=str(desk.project))
    found = json.loads(done.stdout)
    assert (found["level"], found["answers"][0]["command"]) == ("commit-only", write)
    assert found["answers"][0]["prompt"] == f"shell {write}"
    assert found["answers"][0]["made_commit"] is True


def broken_rules(tmp_path, expect):
    """Check the recorded session against a rule; return the exit code, and which rules are broken."""
    policy = tmp_path / "policy.toml"
    policy.write_text(f'[[rule]]\nid = "ours/rule"\nexpect = "{expect}"\n')
    done = scopes("check", "conv-001", "--rules", str(policy), "--json", table=PRODUCT)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, {finding["rule"] for line in lines for finding in line.get("findings", ())}


@AGENTS
def test_check_sees_the_commands_of_a_recorded_session(desk, tmp_path, profile):
    run(desk, "echo harmless", "git push origin main", **profile)
    code, broken = broken_rules(tmp_path, "never run(git push **)")
    assert (code, "ours/rule" in broken) == (1, True)


@pytest.mark.parametrize("path", ["**/app.py", "**/new.py", "**/gone.py", "/project/**"])
def test_check_sees_the_edits_of_a_recorded_session(desk, tmp_path, path):
    """Gemini CLI shows its edits to the editor as diffs, and says no arguments."""
    desk.run("rewrite")
    code, broken = broken_rules(tmp_path, f"never edit({path})")
    assert (code, "ours/rule" in broken) == (1, True)


def test_files_that_were_not_edited_break_no_rule(desk, tmp_path):
    desk.run("rewrite")
    assert "ours/rule" not in broken_rules(tmp_path, "never edit(**/other.py)")[1]
