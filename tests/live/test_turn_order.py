"""Turns of several sessions that end at the same time are imported in the order in which they ended."""

from __future__ import annotations

import json
import os
import threading
import time

import pytest

from scopes.history.messages import read_message, walk_headers_oldest_first
from scopes.history.names import list_branch_tips
from scopes.live import turn_order
from scopes.live.source_lock import source_lock
from scopes.live.turn_order import TurnOrder
from tests.cli.running import PRODUCT, scopes
from tests.support.hook_agent import HookAgent, texts_of
from tests.support.store import open_store

FORK = "0f0f0f0f-1111-2222-3333-444444444444"


@pytest.fixture
def agent(sealed_world, tmp_path):
    found = HookAgent(sealed_world, tmp_path)
    assert scopes("setup", "claude-code", "--only", "hooks", table=PRODUCT).returncode == 0
    yield found
    found.close()


def fork_of(agent, text):
    """Write a copy of the session under another id, with one more prompt, and return the input of its hook."""
    path = agent.session.with_name(f"{FORK}.jsonl")
    agent.log.user(text)
    copies = [{**record, "sessionId": FORK} for record in agent.log.records]
    path.write_text("".join(json.dumps(record) + "\n" for record in copies))
    del agent.log.records[-1]
    return json.dumps({**agent.input, "session_id": FORK, "transcript_path": str(path)})


def keep_busy(agent):
    """Change the time of the session until a turn is recorded, as an agent does that still writes its last lines."""

    def touch():
        end = time.monotonic() + 30
        while not agent.events() and time.monotonic() < end:
            os.utime(agent.session)
            time.sleep(0.02)

    thread = threading.Thread(target=touch)
    thread.start()
    return thread


def branch_texts(store):
    repository = open_store(store)
    tips = list_branch_tips(repository, "conv-001")
    return {
        name: {read_message(repository, head.oid).text for head in walk_headers_oldest_first(repository, [tip])}
        for name, tip in tips.items()
    }


@pytest.mark.slow
def test_a_fork_that_is_quiet_earlier_is_imported_after_its_original(agent):
    """The process of the original waits until its file is quiet: that of the fork was faster, and had `main`."""
    for number in (1, 2):
        agent.log.user(f"prompt {number}")
        agent.log.answer(f"msg_01{number}GxT9vQ2mWk7Lr5Ya8Nc", {"type": "text", "text": f"answer {number}"})
    agent.flush()
    fork = fork_of(agent, "only in the fork")
    busy = keep_busy(agent)
    agent.stop()
    agent.stop(fork)
    busy.join()
    agent.wait_for_texts(*texts_of(1, 2), "only in the fork")
    found = branch_texts(agent.store)
    assert found["main"] == set(texts_of(1, 2))
    assert [name for name, texts in found.items() if "only in the fork" in texts] == [f"fork/{FORK[-8:]}"]


def test_the_next_turn_waits_until_the_one_before_it_is_released(tmp_path):
    first = TurnOrder(str(tmp_path / "locks"), b"claude-code", b"/w")
    second = TurnOrder(str(tmp_path / "locks"), b"claude-code", b"/w")
    assert (first.descriptor is None, second.descriptor is None) == (False, True)
    waiting = threading.Thread(target=second.wait)
    waiting.start()
    first.release()
    waiting.join(30)
    assert second.descriptor is not None
    second.release()
    assert os.listdir(tmp_path / "locks") == []


def test_turns_of_other_directories_and_agents_are_in_orders_of_their_own(tmp_path):
    orders = [TurnOrder(str(tmp_path), *names) for names in ((b"codex", b"/w"), (b"codex", b"/v"), (b"gemini", b"/w"))]
    assert all(order.descriptor is not None for order in orders)


def test_a_turn_that_waits_too_long_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(turn_order, "_MAX_WAIT_SECONDS", 0.0)
    _first, second = TurnOrder(str(tmp_path), b"a"), TurnOrder(str(tmp_path), b"a")
    second.wait()
    second.release()
    assert second.descriptor is None


def test_without_a_place_for_locks_turns_are_in_no_order(tmp_path):
    (tmp_path / "file").touch()
    order = TurnOrder(str(tmp_path / "file" / "locks"), b"a")
    order.release()
    assert order.descriptor is None


def test_who_waits_for_a_source_lets_the_next_turn_pass(tmp_path):
    """Both would wait for each other: one has the order and wants the source, the other one has it and waits."""
    order = TurnOrder(str(tmp_path), b"a")
    passed = []

    def import_again():
        with source_lock(str(tmp_path), "session", on_wait=order.release) as is_ours:
            passed.append(is_ours)

    with source_lock(str(tmp_path), "session"):
        again = threading.Thread(target=import_again)
        again.start()
        second = TurnOrder(str(tmp_path), b"a")
        second.wait()
        assert (second.descriptor is None, passed) == (False, [])
    again.join(30)
    assert passed == [True]
