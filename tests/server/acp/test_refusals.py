"""An agent that opens no session, or does not start at all, is in `acp log` and `acp stats`, with its reason."""

from __future__ import annotations

import json

import pytest

from scopes.live.event_log import MAX_TEXT
from scopes.server.acp.acp_events import acp_log, acp_stats
from tests.cli.running import PRODUCT, scopes
from tests.support.acp_client import AcpError


@pytest.fixture
def state(sealed_world):
    return str(sealed_world / ".local/state/scopes")


def refused(desk, method, **profile):
    """Let an editor ask for what the agent refuses; return the details of the event."""
    editor = desk.editor(initialize=method != "initialize", **profile)
    params = {"protocolVersion": 1, "cwd": str(desk.project), "mcpServers": []}
    if method not in {"initialize", "session/new"}:
        params["sessionId"] = "s-1"
    with pytest.raises(AcpError):
        editor.ask(method, params)
    editor.close()
    (event,) = desk.events("refused")
    return {name: event.get(name) for name in ("method", "code", "error", "session")}


def test_a_session_that_the_agent_refuses_is_in_the_log_and_in_the_statistics(desk, state):
    """S3-18: as Gemini CLI without a login does."""
    found = refused(desk, "session/new", fail=["session/new"])
    assert found == {"method": "session/new", "code": -32603, "error": "session/new is broken", "session": None}
    assert [event.event for event in acp_log(state).events] == ["end", "refused", "initialize", "start"]
    (row,) = acp_stats(state).agents
    assert (row.agent, row.sessions, row.failures) == ("stub", 0, {"refused": 1})


@pytest.mark.parametrize("method", ["session/load", "session/resume", "session/fork"])
def test_a_session_that_the_editor_wants_to_continue_and_the_agent_does_not_is_logged(desk, method):
    way = method.removeprefix("session/")
    assert refused(desk, method, **{way: True, "fail": [method]}) == {
        "method": method, "code": -32603, "error": f"{method} is broken", "session": "s-1"
    }  # fmt: skip


def test_an_agent_that_does_not_initialize_is_logged_by_the_name_of_its_program(desk, state):
    found = refused(desk, "initialize", fail=["initialize"])
    assert (found["method"], found["error"]) == ("initialize", "initialize is broken")
    (row,) = acp_stats(state).agents
    assert (row.agent.startswith("python"), row.failures) == (True, {"refused": 1})


def test_a_login_that_is_missing_is_logged_and_the_session_after_it_too(desk, state):
    """S3-1: the editor gets the error, logs in, and asks again."""
    assert refused(desk, "session/new", auth=["session/new"])["code"] == -32000
    editor = desk.editor(auth=["session/new"])
    editor.ask("authenticate", {"methodId": "any"})
    editor.open(desk.project)
    editor.close()
    (row,) = acp_stats(state).agents
    assert (row.sessions, row.new, row.failures) == (1, 1, {"refused": 1})


def test_a_missing_login_is_logged_when_a_session_is_resumed_too(desk):
    """The agent has lost its login since: no further way is tried."""
    desk.run("first", resume=True)
    editor = desk.editor(resume=True, auth=["session/resume"])
    with pytest.raises(AcpError, match="login first"):
        editor.open(desk.project)
    editor.close()
    (event,) = desk.events("refused")
    assert (event["method"], event["code"], event["error"]) == ("session/resume", -32000, "login first")


@pytest.mark.parametrize(
    ("options", "command", "reason"),
    [
        ((), ["no-such-agent", "--acp"], "the agent 'no-such-agent' was not found"),
        ((), ["/"], "the agent '/' cannot be started: Permission denied"),
        (("--conversation", "conv-009"), ["true"], "there is no conversation 'conv-009'"),
    ],
    ids=["missing", "no program", "no conversation"],
)
def test_an_agent_that_cannot_be_started_is_in_the_log_and_in_the_statistics(desk, state, options, command, reason):
    """S3-18: an editor may not show the standard error of what it starts."""
    desk.run("first")
    assert scopes("acp", *options, "--", *command, table=PRODUCT).returncode != 0
    event = acp_log(state).events[0]
    assert (event.event, event.agent) == ("start-failed", command[0].rpartition("/")[2] or "agent")
    assert event.details["error"] == reason
    assert acp_stats(state).agents[-1].failures == {"start-failed": 1}


def test_the_name_that_the_user_gave_is_that_of_a_failed_start(desk, state):
    assert scopes("acp", "--agent", "writer", "--", "no-such-agent", table=PRODUCT).returncode != 0
    log = scopes("acp", "log", "--agent", "Writer", "--json", table=PRODUCT)
    (event,) = json.loads(log.stdout)["events"]
    assert (event["event"], event["details"]["program"]) == ("start-failed", "no-such-agent")


def test_a_text_of_an_agent_or_an_editor_is_cut_in_the_log(desk):
    """An error may hold anything, such as the page of a web server; so may an id."""
    editor = desk.editor(initialize=False)
    with pytest.raises(AcpError):
        editor.ask("session/load", {"sessionId": "s" * 100_000, "cwd": str(desk.project), "mcpServers": []})
    editor.close()
    (event,) = desk.events("refused")
    assert event["session"] == "s" * MAX_TEXT + "..."
