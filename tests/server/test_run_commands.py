"""The commands that an agent runs behind the proxy are commands to `why`, `check` and all others that read them.

ACP has a kind of tool for them, `execute`, and no name. Some agents give the arguments of a call, as opencode does; of
others the title is all, as of Gemini CLI.
"""

from __future__ import annotations

import json

import pytest

from scopes.history.activity import find_test_command
from scopes.model.file_edits import command_of
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


@AGENTS
def test_check_sees_the_commands_of_a_recorded_session(desk, tmp_path, profile):
    policy = tmp_path / "policy.toml"
    policy.write_text('[[rule]]\nid = "ours/no-push"\nexpect = "never run(git push **)"\n')
    run(desk, "echo harmless", "git push origin main", **profile)
    done = scopes("check", "conv-001", "--rules", str(policy), "--json", table=PRODUCT)
    rules = [finding["rule"] for line in done.stdout.splitlines() for finding in json.loads(line).get("findings", ())]
    assert (done.returncode, "ours/no-push" in rules) == (1, True), done.stdout
