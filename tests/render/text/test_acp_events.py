"""On a terminal, nothing of what failed behind `scopes acp` is cut."""

from __future__ import annotations

import pytest

from scopes.server.acp.acp_events import AcpLog, AcpStats, AgentSessions, LoggedEvent
from tests.render.rendering import seen

FAILURES = {"load-failed": 12, "resume-failed": 3, "continue-failed": 1, "history-failed": 2, "replay-differs": 1}
BUSY = AgentSessions("an-agent-with-a-long-name", 1234, 1000, 200, 30, 4, 1100, FAILURES, {"store-busy": 2, "bug": 1})
ERROR = "the session file /home/someone/.agent/sessions/2026/01/01/session-1.jsonl has no messages"


def logged(agent="gemini", event="load-failed", **details):
    return LoggedEvent("2026-01-01T12:00:00.000Z", event, agent, 77, details)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_every_count_is_shown_whole(width):
    shown = seen(AcpStats(agents=(BUSY,)), width)
    text = " ".join(shown.split())
    for name, count in {**FAILURES, **BUSY.problems}.items():
        assert f"{count} {name}" in text
    assert max(map(len, shown.splitlines())) <= width


def test_the_agent_has_its_whole_name_in_80_columns():
    shown = seen(AcpStats(agents=(BUSY,)), 80)
    assert "│ an-agent-with-a-long-name " in shown or "an-agent-with-a-long-name, failed: " in shown


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_details_of_an_event_are_shown_whole(width):
    shown = seen(AcpLog(events=(logged(session="s-1", error=ERROR),)), width)
    assert "".join(f"error: {ERROR}".split()) in "".join(shown.split())
    assert max(map(len, shown.splitlines())) <= width


def test_details_that_are_false_or_empty_are_left_out():
    shown = seen(AcpLog(events=(logged(event="session", way="new", resumed=False, ways=[]),)), 80)
    assert shown.rstrip().endswith("session  way: new")


def test_lists_are_read_as_words():
    assert "ways: fork, resume" in seen(AcpLog(events=(logged(event="initialize", ways=["fork", "resume"]),)), 80)
