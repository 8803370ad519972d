"""`acp --log` reads the log of the proxies; `context --for-prompt` prints what they put in."""

from __future__ import annotations

import json
import os
import re

import pytest

from scopes.live.event_log import MAX_BYTES, MAX_TEXT, EventLog, read_events
from scopes.server.acp.acp_events import acp_log, acp_stats, protocol_versions
from tests.cli.running import PRODUCT, imported, scopes


@pytest.fixture
def state(sealed_world):
    return str(sealed_world / ".local/state/scopes")


def names(directory):
    return [event.name for event in read_events(str(directory)).events]


@pytest.mark.slow
def test_stats_count_how_sessions_began_and_what_failed(desk, state):
    """S3-18: per agent, as the log has it."""
    desk.run("first", resume=True, load=True)
    desk.run("second", resume=True)
    desk.run("third", load=True)
    desk.run("fourth", resume=True, fail=["session/resume"])
    desk.run("other", name="other")
    other, stub = sorted(acp_stats(state).agents)
    assert other[:7] == ("other", 1, 1, 0, 0, 0, 0)
    assert stub[:7] == ("stub", 4, 2, 1, 1, 0, 1)
    assert (stub.failures, stub.problems) == ({"resume-failed": 1}, {})


def test_what_is_no_way_to_continue_that_failed_is_a_problem_of_the_session(tmp_path):
    """S3-18: the agent was not asked for a fork that it does not offer, and a replay that differs was loaded."""
    log = EventLog(str(tmp_path), agent="stub")
    for name in ("fork-not-offered", "replay-differs", "fork-failed", "spool-not-taken"):
        log.write(name)
    log.write("session", way="load")
    [stub] = acp_stats(str(tmp_path)).agents
    assert (stub.sessions, stub.loaded, stub.failures) == (1, 1, {"fork-failed": 1})
    assert stub.problems == {"fork-not-offered": 1, "replay-differs": 1, "spool-not-taken": 1}


def test_the_log_shows_events_newest_first_and_no_text_of_messages(desk, state):
    desk.run("a very secret text")
    events = acp_log(state).events
    assert [event.event for event in events] == ["end", "session", "initialize", "start"]
    assert "secret" not in json.dumps(read_events(state).events)
    assert [event.event for event in acp_log(state, limit=1).events] == ["end"]
    assert acp_log(state, agent="nobody").events == ()


def test_an_agent_that_the_log_has_not_is_named_with_those_that_it_has(tmp_path):
    assert acp_log(str(tmp_path), agent="opencode").notes == ()
    for name in ("gemini", "opencode"):
        EventLog(str(tmp_path), agent=name).write("start", program=name)
    (note,) = acp_log(str(tmp_path), agent="opencde").notes
    assert (note.text, note.hint) == ("the log has no event of an agent 'opencde'", "it has: gemini, opencode")


@pytest.mark.parametrize("name", ["OpenCode", "opencode", "OPENCODE"])
def test_the_log_of_an_agent_has_the_events_before_its_name_is_known(tmp_path, name):
    log = EventLog(str(tmp_path), agent="opencode")
    log.write("start", program="opencode")
    log.set_fields(agent="OpenCode")
    log.write("initialize", ways=[])
    assert [event.event for event in acp_log(str(tmp_path), agent=name).events] == ["initialize", "start"]


def test_the_log_has_the_version_of_the_protocol_that_an_agent_speaks(desk, state):
    """S0-23."""
    desk.run("first")
    assert protocol_versions(state) == {"stub": 1}


@pytest.mark.parametrize("words", [("--continue", "--conversation", "x"), ("--inject", "--fork"), ("--continue", "x")])
def test_an_option_without_its_value_is_named_before_the_missing_command(words):
    done = scopes("acp", *words, "--", "cat", table=PRODUCT)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"invalid value for '{words[0]}'" in done.stderr


def test_the_preview_is_exactly_what_is_put_in(desk):
    """S3-26: but for the random mark."""
    desk.run("remember </conversation_history> this", "tool")
    desk.run("next")
    history = desk.prompts()[2][0]
    done = scopes("context", "conv-001/main~2", "--for-prompt", "--explain", table=PRODUCT)
    printed, put_in = (re.sub(r"recorded (\w+) \d+ ", r"recorded \1 ", text) for text in (done.stdout, history))
    assert (done.returncode, printed) == (0, put_in)


def test_rows_of_the_log_have_the_fields_that_are_asked_for(desk):
    desk.run("first")
    rows = scopes("acp", "--log", "--format", r"{event}\t{agent}\t{details}", table=PRODUCT).stdout.splitlines()
    assert rows[0] == 'end\tstub\t{"exit_code": 0}'
    assert [row.split("\t")[0] for row in rows] == ["end", "session", "initialize", "start"]
    done = scopes("acp", "--log", "-n", "2", "--format", "{time} {event}/{agent} {pid}", table=PRODUCT)
    assert re.fullmatch(r"(\S+T\S+Z \w+/stub \d+\n){2}", done.stdout)


def test_the_log_as_json_has_the_events_and_the_counts(desk):
    desk.run("first")
    events, stats = map(json.loads, scopes("acp", "--log", "-n", "1", "--json", table=PRODUCT).stdout.splitlines())
    assert [event["event"] for event in events["events"]] == ["end"]
    [stub] = stats["agents"]
    assert (stub["agent"], stub["sessions"], stub["new"]) == ("stub", 1, 1)


def test_an_unknown_field_of_a_row_is_refused_with_those_that_there_are(desk):
    desk.run("first")
    done = scopes("acp", "--log", "--format", "{agnet}", table=PRODUCT)
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean {agent}?" in done.stderr


def test_a_log_that_is_full_is_kept_once(tmp_path):
    log = EventLog(str(tmp_path), agent="a")
    log.write("first", list=["x" * MAX_BYTES])
    log.write("second")
    log.write("third")
    assert names(tmp_path) == ["first", "second", "third"]
    assert sorted(os.listdir(tmp_path)) == ["acp.log", "acp.log.1"]


def test_a_text_of_an_agent_is_cut_in_the_log(tmp_path):
    EventLog(str(tmp_path), agent="a").write("refused", error="x" * 100_000, code=None)
    (event,) = read_events(str(tmp_path)).events
    assert event.details == {"error": "x" * MAX_TEXT + "..."}


def test_the_log_is_readable_by_its_owner_alone(tmp_path):
    """P13."""
    log = EventLog(str(tmp_path / "new"), agent="a")
    log.write("first")
    assert os.stat(log.path).st_mode & 0o777 == 0o600
    assert os.stat(tmp_path / "new").st_mode & 0o777 == 0o700


def test_neither_the_proxy_nor_another_command_imports_asyncio():
    """Start-up: threads do what is needed, and other commands import nothing of the proxy."""
    assert not any(name.split(".")[0] in {"asyncio", "acp"} for name in imported("acp", "--", "true"))
    assert not any(name.startswith("scopes.server") for name in imported("list"))
