"""An agent that opens no session, or does not start at all, is in `acp --log`, with its reason."""

from __future__ import annotations

import json

import pytest

from scopes.live.event_log import MAX_TEXT, EventLog
from scopes.server.acp.acp_events import acp_log, acp_stats
from scopes.server.acp.options import command_key
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
    log = scopes("acp", "--log", "--agent", "Writer", "--json", table=PRODUCT)
    (event,) = json.loads(log.stdout.splitlines()[0])["events"]
    assert (event["event"], event["details"]["program"]) == ("start-failed", "no-such-agent")


def test_a_failed_start_has_the_name_that_the_agent_had_with_the_same_command(tmp_path, state):
    """S3-18: the program is an interpreter as a rule, of which nobody knows that it is the agent."""
    log = EventLog(state, agent="python3")
    log.write("start", program="python3", command=command_key(["python3", "agent.py"]))
    log.set_fields(agent="gemini")
    log.write("initialize", ways=[])
    failed = EventLog(state, agent="python3")
    for command in (["python3", "agent.py"], ["python3", "other.py"]):
        failed.write("start-failed", program="python3", command=command_key(command), error="no memory")
    EventLog(state, agent="mine").write("start-failed", program="python3", command=command_key(["python3", "agent.py"]))
    events = acp_log(state).events
    assert [each.agent for each in events] == ["mine", "python3", "gemini", "gemini", "gemini"]
    assert {row.agent: row.failures for row in acp_stats(state).agents}["gemini"] == {"start-failed": 1}
    assert all("command" not in each.details for each in events)


@pytest.mark.parametrize(
    ("command", "left_out"),
    [(["true"], ""), (["cat"], ""), (["sh", "-c", "read x; echo hello; echo you"], "2 lines of it")],
    ids=["ends", "echo", "text"],
)
def test_a_program_that_is_no_agent_is_named_and_its_success_is_none(command, left_out):
    request = '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}\n'
    done = scopes("acp", "--", *command, table=PRODUCT, stdin=None, input=request)
    assert done.returncode == 1
    assert done.stdout.startswith(request) is (command == ["cat"]), "what it says is passed on unchanged"
    assert "the agent has ended" in done.stdout, "the editor gets its answer"
    assert "the program ended before it answered initialize" in done.stderr
    assert left_out in done.stderr


def test_a_program_that_nobody_asked_anything_may_end(state):
    assert scopes("acp", "--", "true", table=PRODUCT, stdin=None, input="").returncode == 0
    done = scopes("acp", "--", "sh", "-c", "exit 7", table=PRODUCT, stdin=None, input="{}\n")
    assert done.returncode == 7, "the code of a failure stays"
    assert acp_log(state).events[0].details == {"exit_code": 7}


def test_a_text_of_an_agent_or_an_editor_is_cut_in_the_log(desk):
    """An error may hold anything, such as the page of a web server; so may an id."""
    editor = desk.editor(initialize=False)
    with pytest.raises(AcpError):
        editor.ask("session/load", {"sessionId": "s" * 100_000, "cwd": str(desk.project), "mcpServers": []})
    editor.close()
    (event,) = desk.events("refused")
    assert event["session"] == "s" * MAX_TEXT + "..."
