"""Requests that wait for an answer, of both sides and of our own."""

from __future__ import annotations

import json
import os
import threading

import pytest

from scopes.server.acp.lines import LineWriter, read_lines
from scopes.server.acp.peers import Peers
from scopes.server.acp.pending import PendingRequests
from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]

IDS = (1, "1", 0, "", None, 1.5, True, "scopes:x:1", [1], {"a": 1})


def request(message_id, method="session/prompt", **params):
    return {"jsonrpc": "2.0", "id": message_id, "method": method, "params": params}


@pytest.mark.parametrize("message_id", IDS, ids=str)
def test_an_answer_takes_its_request_once(message_id):
    """The protocol allows numbers and texts; what an editor sends is answered whatever it is."""
    pending = PendingRequests()
    pending.add(request(message_id, sessionId="s"))
    found = pending.take({"id": message_id, "result": {}})
    assert (found.id, found.method, found.session) == (message_id, "session/prompt", "s")
    assert pending.take({"id": message_id, "result": {}}) is None


def test_a_number_and_its_text_are_two_ids():
    pending = PendingRequests()
    pending.add(request(1, "first"))
    pending.add(request("1", "second"))
    assert pending.take({"id": "1"}).method == "second"
    assert pending.take({"id": 1}).method == "first"


def test_what_is_not_answered_is_taken_in_its_order_and_once():
    pending = PendingRequests()
    for number in (3, 1, 2):
        pending.add(request(number))
    assert [each.id for each in pending.take_all()] == [3, 1, 2]
    assert pending.take_all() == []


@pytest.mark.parametrize("params", [{}, {"sessionId": 7}, {"sessionId": None}])
def test_a_request_may_name_no_session(params):
    pending = PendingRequests()
    pending.add(request(1, **params))
    assert pending.take({"id": 1}).session is None


class Sides:
    """Peers whose lines to the agent can be read."""

    def __init__(self):
        self.source, sink = os.pipe()
        self.writer = LineWriter(sink)
        self.peers = Peers(LineWriter(-1), self.writer)
        self.lines = read_lines(self.source)
        self.answers = []
        self.has_answer = threading.Event()

    def ask(self, seconds=60.0):
        """Ask the agent, and return the request that it gets."""
        self.peers.ask_agent("session/resume", {"sessionId": "s"}, self.take, seconds)
        return json.loads(next(self.lines))

    def take(self, answer):
        self.answers.append(answer)
        self.has_answer.set()

    def close(self):
        self.writer.close()
        os.close(self.source)


@pytest.fixture
def sides():
    found = Sides()
    yield found
    found.close()


def test_our_own_request_gets_its_answer(sides):
    asked = sides.ask()
    assert (asked["method"], asked["params"]) == ("session/resume", {"sessionId": "s"})
    answer = {"id": asked["id"], "result": {"a": 1}}
    assert sides.peers.take_own_answer(answer) is True
    assert sides.answers == [answer]


def test_an_answer_that_comes_twice_is_taken_twice_and_handed_on_once(sides):
    """The editor knows nothing of the request, so it must see neither."""
    answer = {"id": sides.ask()["id"], "result": {}}
    assert [sides.peers.take_own_answer(answer) for _ in range(2)] == [True, True]
    assert len(sides.answers) == 1


def test_a_request_that_takes_too_long_is_given_up_and_its_late_answer_is_ours(sides):
    asked = sides.ask(seconds=0.01)
    assert sides.has_answer.wait(30)
    assert sides.answers == [None]
    assert sides.peers.take_own_answer({"id": asked["id"], "result": {}}) is True
    assert sides.answers == [None]


def test_two_requests_of_ours_have_two_ids(sides):
    assert sides.ask()["id"] != sides.ask()["id"]


@pytest.mark.parametrize("message_id", IDS, ids=str)
def test_an_answer_to_the_editor_is_not_ours(sides, message_id):
    sides.ask()
    assert sides.peers.take_own_answer({"id": message_id, "result": {}}) is False
    assert sides.answers == []


def test_a_request_of_the_agent_with_an_id_of_ours_is_no_answer(sides):
    """Both sides count on their own: the same id may be in use on both."""
    asked = sides.ask()
    assert sides.peers.take_own_answer(request(asked["id"], "fs/read_text_file")) is False
    assert sides.answers == []


@pytest.mark.usefixtures("spread_ids")
def test_another_proxy_before_this_one_has_other_ids():
    """Proxies can be put one before the other."""
    one, other = Sides(), Sides()
    assert one.ask()["id"] != other.ask()["id"]
    one.close()
    other.close()


def test_work_is_done_in_its_order_and_after_a_bug_too(sides, monkeypatch):
    done, finished, reported = [], threading.Event(), threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda _: reported.set())
    sides.peers.run_in_worker(lambda: done.append(1))
    sides.peers.run_in_worker(lambda: 1 / 0)
    sides.peers.run_in_worker(lambda: done.append(2))
    sides.peers.run_in_worker(finished.set)
    assert finished.wait(30)
    assert reported.wait(30)  # the thread with the bug may end after the work that another one does
    assert done == [1, 2]
