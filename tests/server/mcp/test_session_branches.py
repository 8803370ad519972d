"""What an agent writes beside a session that is being recorded is on a branch notes: it would stop that recording."""

from __future__ import annotations

import pytest

pytest.importorskip("mcp")

from scopes.agents.register import register
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.live.event_log import EventLog
from scopes.server.acp.live_sessions import LiveSessions
from scopes.server.acp.recordings import SessionWriter, identity_of
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import branch_words, import_demo
from tests.support.history import history
from tests.support.mcp_client import Agent
from tests.support.store import make_store, open_store


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "store")


@pytest.fixture
def grow(store, tmp_path):
    """Import a session with two messages, and return a function that imports it when it has grown."""

    def grow_to(words):
        import_demo(store, write_transcript(tmp_path / "a.jsonl", *session_records("s1", words)))

    grow_to("a b")
    return grow_to


@pytest.mark.parametrize("conversation", ["conv-001", "conv-001/main"])
@pytest.mark.parametrize("key", [None, "k"])
def test_a_record_goes_to_notes_and_the_session_goes_on(store, grow, conversation, key):
    """The session's further turns were on a hidden branch, and the active one stayed at the note."""
    agent = Agent(store.path)
    given = {} if key is None else {"key": key}
    first = agent.get("conversation_record", conversation=conversation, text="decided", **given)
    assert (first["branch"], first["continuation_id"]) == ("notes", "conv-001/notes")
    assert [note["text"] for note in first["notes"]] == [
        "conv-001/main is the branch of a session that is being recorded: the message is on notes"
    ]
    grow("a b c")
    again = agent.get("conversation_record", conversation=first["continuation_id"], text="more")
    assert ("notes" in again, again["branch"]) == (False, "notes")
    assert (branch_words(open_store(store.path)), branch_words(open_store(store.path), "notes")) == (
        "a b c",
        "a b decided more",
    )
    assert StoreHandle(open_store(store.path)).branch("conv-001").name == "main"


def test_a_question_to_another_agent_goes_there_too(store, grow):
    register(store, "reviewer")
    sent = Agent(store.path).get("message_send", conversation="conv-001", to=["reviewer"], text="right?")
    assert (sent["branch"], [note["text"].endswith("is on notes") for note in sent["notes"]]) == ("notes", [True])
    grow("a b c")
    assert branch_words(open_store(store.path)) == "a b c"


def test_who_continues_the_session_learns_of_the_notes(store, grow):
    agent = Agent(store.path)
    agent.get("conversation_record", conversation="conv-001", text="decided")
    notes = agent.get("conversation_continue", continuation_id="conv-001")["notes"]
    assert [(note["text"], "conversation_read" in note["hint"]) for note in notes] == [
        ("conv-001/notes has 1 message that is not on this branch", True)
    ]


def test_a_merge_into_the_branch_of_a_session_says_what_it_does(store, grow):
    agent = Agent(store.path)
    agent.get("conversation_record", conversation="conv-001", text="decided")
    given = {"conversation": "conv-001", "source": "notes"}
    (planned,) = agent.get("conversation_merge", **given, dry_run=True)["notes"]
    (note,) = agent.get("conversation_merge", **given)["notes"]
    assert ("would go to a branch import/" in planned["text"], planned["hint"].endswith("do not merge notes")) == (
        True,
        True,
    )
    assert "go to a branch import/... from now on" in note["text"]


def test_a_conversation_without_a_session_gets_messages_where_it_is(store):
    history(store, "main: a")
    assert Agent(store.path).get("conversation_record", conversation="conv-001", text="b")["branch"] == "main"


def test_a_record_about_a_session_of_an_open_editor_goes_to_notes(store, tmp_path):
    live = LiveSessions(EventLog(str(tmp_path / "state"), agent="stub"))
    writer = SessionWriter(store, identity_of("stub", str(tmp_path)), "agent-1", "r1", None, live=live)
    writer.append(plain_message("carol", "a"))
    agent = Agent(store.path)
    assert agent.get("conversation_record", conversation="conv-001", text="b")["branch"] == "notes"
    live.release_all()
    assert agent.get("conversation_record", conversation="conv-001/main", text="c")["branch"] == "main"
