"""`acp --log` have the events of this store, of a conversation, or from a time on."""

from __future__ import annotations

import json
import os

import pytest

from scopes.clock import new_id, now
from scopes.conversation.branch import branch
from scopes.errors import NotFound
from scopes.live.event_log import EventLog
from scopes.model.message import Author, Message, text_parts
from scopes.server.acp.acp_events import acp_log, acp_stats
from scopes.server.acp.event_filter import EventFilter, of_conversation
from scopes.server.acp.recordings import SessionWriter, identity_of
from tests.cli.running import PRODUCT, scopes

OURS, THEIRS = "/stores/ours", "/stores/theirs"


class Processes:
    """Writes the log of several processes."""

    def __init__(self, directory, monkeypatch):
        self.directory, self.monkeypatch = str(directory), monkeypatch

    def write(self, pid, event, **fields):
        self.monkeypatch.setattr("os.getpid", lambda: pid)
        EventLog(self.directory, agent="stub").write(event, **fields)

    def events(self, **wanted):
        """Return the process and the name of each event that is wanted, oldest first."""
        return [(each.pid, each.event) for each in reversed(acp_log(self.directory, EventFilter(**wanted)).events)]


@pytest.fixture
def log(tmp_path, monkeypatch):
    found = Processes(tmp_path, monkeypatch)
    found.write(1, "start", store=OURS)
    found.write(2, "start", store=THEIRS)
    found.write(1, "session", way="new", session="one")
    found.write(2, "session", way="new", session="two")
    found.write(3, "start")
    found.write(3, "session", way="load", session="old")
    return found


def test_a_process_is_of_the_store_that_its_start_names(log):
    """Those of older versions name none."""
    older = [(3, "start"), (3, "session")]
    assert log.events(store=OURS) == [(1, "start"), (1, "session"), *older]
    assert log.events(store=THEIRS) == [(2, "start"), (2, "session"), *older]
    assert len(log.events()) == 6


def test_a_process_id_that_is_used_again_is_another_process(log):
    log.write(1, "start", store=THEIRS)
    log.write(1, "end")
    assert log.events(store=OURS)[-1] == (3, "session")
    assert log.events(store=THEIRS)[-2:] == [(1, "start"), (1, "end")]


def test_an_event_that_names_its_store_itself_needs_no_start(log):
    """What an import takes out of the spool."""
    log.write(7, "spool-taken", store=THEIRS)
    assert (7, "spool-taken") not in log.events(store=OURS)
    assert (7, "spool-taken") in log.events(store=THEIRS)


def test_the_store_is_not_among_the_details(log):
    assert all("store" not in each.details for each in acp_log(log.directory).events)


def test_stats_count_the_sessions_of_a_store(log):
    [row] = acp_stats(log.directory, EventFilter(OURS)).agents
    assert (row.sessions, row.new, row.loaded) == (2, 1, 1)
    [row] = acp_stats(log.directory).agents
    assert row.sessions == 3


def test_events_from_a_time_on_have_the_name_of_the_agent_from_before(tmp_path):
    log = EventLog(str(tmp_path), agent="program")
    log.write("start", store=OURS)
    log.set_fields(agent="Stub")
    log.write("initialize")
    since = now()
    log.set_fields(agent="program")
    log.write("end")
    [event] = acp_log(str(tmp_path), EventFilter(since=since)).events
    assert (event.event, event.agent) == ("end", "Stub")


def record(repository, session, recorded=None):
    writer = SessionWriter(repository, identity_of("stub", "/shop"), session, session, recorded)
    return writer.append(Message(id=new_id(), author=Author("carol", "human"), parts=text_parts(session), time=now()))


def test_a_conversation_has_its_sessions_and_their_processes(repository, log):
    record(repository, "one")
    record(repository, "two")
    log.write(1, "recording-slow")
    log.write(1, "session", way="new", session="three")
    found = log.events(conversation=of_conversation(repository, "conv-001"))
    assert found == [(1, "start"), (1, "session"), (1, "recording-slow")]


def test_a_conversation_has_the_sessions_that_later_ones_went_on_with(repository, log):
    record(repository, "later", record(repository, "one"))
    assert (1, "session") in log.events(conversation=of_conversation(repository, "conv-001"))


def test_a_session_that_a_conversation_was_continued_with_is_known_by_its_name(repository, log):
    record(repository, "elsewhere")
    log.write(4, "session", way="load", session="not recorded", where="conv-001/main")
    assert log.events(conversation=of_conversation(repository, "conv-001")) == [(4, "session")]


def test_a_branch_has_its_own_sessions_only(repository, log):
    """`acp --log --conversation conv-001/main` said that there is no such conversation."""
    record(repository, "one")
    branch(repository, "conv-001", name="aside")
    log.write(4, "session", way="load", session="not recorded", where="conv-001/aside")
    assert log.events(conversation=of_conversation(repository, "conv-001/main")) == [(1, "start"), (1, "session")]
    assert log.events(conversation=of_conversation(repository, "conv-001/aside")) == [(4, "session")]
    assert len(log.events(conversation=of_conversation(repository, "conv-001"))) == 3


@pytest.mark.parametrize("name", ["conv-007", "conv-007/main", "conv-001/nowhere"])
def test_a_conversation_or_a_branch_that_is_not_there_is_refused(repository, name):
    record(repository, "one")
    with pytest.raises(NotFound):
        of_conversation(repository, name)


def rows(*words):
    log, stats = scopes("acp", "--log", *words, "--json", table=PRODUCT).stdout.splitlines()
    return json.loads(log)["events"], json.loads(stats)["agents"]


def test_the_log_is_of_this_store_and_of_a_conversation(desk, monkeypatch, tmp_path):
    desk.run("first")
    events, [stub] = rows("--conversation", "conv-001")
    assert {row["event"] for row in events} >= {"start", "session", "end"}
    assert (stub["sessions"], stub["new"]) == (1, 1)
    chosen = scopes("acp", "--log", "--json=event,sessions", table=PRODUCT).stdout.splitlines()
    assert [set(json.loads(line)) for line in chosen] == [{"scopes", "kind", "events"}, {"scopes", "kind", "agents"}]
    assert {"event": "session"} in json.loads(chosen[0])["events"]
    assert json.loads(chosen[1])["agents"] == [{"sessions": 1}]
    shown = scopes("acp", "--log", "-n", "1", table=PRODUCT).stdout
    assert [line.split("\t")[2] for line in shown.splitlines()] == ["end"]
    monkeypatch.setenv("SCOPES_STORE", os.fspath(tmp_path / "other.git"))
    assert rows() == ([], [])
