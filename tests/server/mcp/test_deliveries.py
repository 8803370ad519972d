"""`message_send` gives a message to the programs of its receivers, as `scopes send` does."""

from __future__ import annotations

import json
import threading

import pytest

pytest.importorskip("mcp")

from scopes.agents.inbox import read_inbox
from scopes.agents.register import register
from scopes.conversation.undo import undo
from tests.support.history import history
from tests.support.mcp_client import Agent
from tests.support.store import make_store, open_store

SEND = {"conversation": "conv-001", "to": ["gemini"], "text": "please review"}


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch):
    """A delivery that failed is tried again at once."""
    monkeypatch.setattr("scopes.agents.delivery._RETRY_AFTER_SECONDS", (0.0, 0.0))


@pytest.fixture
def store(tmp_path):
    """A store in which gemini is registered, and a conversation."""
    made = make_store(tmp_path / "store")
    history(made, "main: a")
    register(made, "gemini")
    return made


def codex(store, program):
    """Return an agent whose user has set a program for the messages of gemini."""
    return Agent(store.path, settings={"scopes.agent.gemini.delivery": program})


def waiting(store):
    return [each.message.text for each in read_inbox(open_store(store.path), "gemini").messages]


def test_the_program_of_a_receiver_gets_the_message_and_the_inbox_is_empty(store, tmp_path):
    sent = codex(store, f"cat > {tmp_path}/got").get("message_send", **SEND)
    got = json.loads((tmp_path / "got").read_text())
    assert (got["text"], got["from"]["name"] if isinstance(got["from"], dict) else got["from"]) == (
        "please review",
        "codex",
    )
    assert (sent["delivered_to"], waiting(store)) == (["gemini"], [])
    assert "notes" not in sent


def test_a_program_that_fails_leaves_the_message_in_the_inbox_and_the_answer_says_so(store):
    sent = codex(store, "exit 3").get("message_send", **SEND)
    assert sent["delivered_to"] == ["gemini"]
    [note] = sent["notes"]
    assert "in the inbox of gemini, but the program of gemini" in json.dumps(note)
    assert waiting(store) == ["please review"]


def test_other_requests_are_answered_while_a_program_works(store, tmp_path):
    """A program may take a minute."""
    agent = codex(store, f"until test -e {tmp_path}/go; do sleep 0.01; done")
    sending = threading.Thread(target=agent.get, args=("message_send",), kwargs=SEND)
    sending.start()
    try:
        other = Agent(store.path)
        other.access = agent.access
        while waiting(store) == []:
            pass
        assert other.get("conversation_show", conversation="conv-001")["continuation_id"] == "conv-001/main"
        assert sending.is_alive()
    finally:
        (tmp_path / "go").touch()
        sending.join()
    assert waiting(store) == []


def test_an_undo_of_the_message_takes_the_delivery_back_too(store):
    codex(store, "true").get("message_send", **SEND)
    done = undo(open_store(store.path), any_actor=True)
    assert [each.actor for each in (done.target, *done.also)] == ["codex", "codex"]
    assert waiting(store) == []
    assert "please review" not in json.dumps(Agent(store.path).get("conversation_read", conversation="conv-001"))


def test_without_a_program_the_message_waits_in_the_inbox(store):
    assert "notes" not in Agent(store.path).get("message_send", **SEND)
    assert waiting(store) == ["please review"]
