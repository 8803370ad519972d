"""Two live sessions never mix on one branch, and nothing of either is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scopes.conversation.append import append
from scopes.conversation.undo import undo
from scopes.history.messages import plain_message
from scopes.history.metadata import read_metadata
from scopes.ids import ConversationId
from scopes.store.locks import DIRECTORY
from tests.support.acp_client import prompt_params


def record_without_locks(desk, text):
    """Record a session in a store that cannot hold any: two editors continue the same one then."""
    desk.run(text)
    directory = Path(os.environ["SCOPES_STORE"], DIRECTORY)
    directory.rmdir()
    directory.touch()


def test_two_live_sessions_of_one_agent_and_directory_become_two_branches(desk):
    """S3-20: the second one to write goes on at the last message that it knew."""
    record_without_locks(desk, "first")
    editors = [desk.editor(), desk.editor()]
    sessions = [editor.open(desk.project) for editor in editors]
    for number in range(3):
        for name, editor, session in zip("ab", editors, sessions, strict=True):
            editor.prompt(session, f"{name}{number}")
    for editor in editors:
        editor.close()
    assert desk.branches() == ["conv-001/main", "conv-001/session/stub"]
    for name, where in (("a", "conv-001/main"), ("b", "conv-001/session/stub")):
        own = [text for text in desk.texts(where) if not text.endswith("first")]
        assert own == [text for n in range(3) for text in (f"{name}{n}", f"echo: {name}{n}")]


@pytest.mark.slow
def test_the_session_that_came_first_stays_that_of_the_branch(desk):
    """S3-17: only what it continued is stale; the second session has a branch of its own."""
    record_without_locks(desk, "first")
    editors = [desk.editor(), desk.editor()]
    sessions = [editor.open(desk.project) for editor in editors]
    for editor, session in zip(editors, sessions, strict=True):
        editor.prompt(session, session)
    entries = read_metadata(desk.store, ConversationId("conv-001")).branches
    assert [entries[name].extra["acp"]["session"] for name in ("main", "session/stub")] == ["agent-2", "agent-3"]
    assert entries["main"].extra["acp"]["stale"] == ["agent-1"]


def test_after_two_sessions_the_branch_with_the_last_message_is_continued(desk):
    """S0-1: the newest branch of the conversation."""
    record_without_locks(desk, "first")
    one, two = desk.editor(), desk.editor()
    first, second = one.open(desk.project), two.open(desk.project)
    one.prompt(first, "a")
    two.prompt(second, "b")
    one.close()
    two.close()
    desk.run("c")
    assert desk.texts("conv-001/session/stub")[-2:] == ["c", "echo: c"]


def test_a_message_that_a_person_adds_meanwhile_stays_on_the_branch(desk):
    """The session goes on after it: nobody else's session has written."""
    editor = desk.editor()
    session = editor.open(desk.project)
    editor.prompt(session, "first")
    append(desk.store, "conv-001", plain_message("carol", "a remark"))
    editor.prompt(session, "second")
    editor.close()
    assert desk.texts() == ["first", "echo: first", "a remark", "second", "echo: second"]
    assert desk.branches() == ["conv-001/main"]


def test_a_turn_that_is_taken_back_meanwhile_stays_so_and_the_next_one_is_recorded(desk):
    """The recording ended: the store was said to be damaged, and turns waited in the spool until the end."""
    editor = desk.editor()
    session = editor.open(desk.project)
    editor.prompt(session, "first")
    undo(desk.store, any_actor=True)
    editor.prompt(session, "second")
    assert desk.texts() == ["first", "second", "echo: second"], "before the end of the proxy"
    editor.close()
    assert desk.events("store-failed") == desk.events("recording-slow") == []


def test_a_conversation_that_is_deleted_meanwhile_goes_on_as_a_new_one(desk):
    from scopes.conversation.new_rename_delete import delete

    editor = desk.editor()
    session = editor.open(desk.project)
    editor.prompt(session, "first")
    delete(desk.store, "conv-001")
    editor.prompt(session, "second")
    editor.close()
    assert desk.texts("conv-002/main") == ["second", "echo: second"]
    assert desk.events("recording-off") == []


def test_two_proxies_that_write_at_the_same_time_lose_nothing(desk, tmp_path):
    """P5: one store, two agents, fifteen prompts each without waiting for an answer in between."""
    editors = [desk.editor(name=name, folder=tmp_path / name) for name in ("one", "two")]
    sessions = [editor.open(desk.project) for editor in editors]
    answers = [
        editor.begin("session/prompt", prompt_params(session, f"p{number}"))
        for number in range(15)
        for editor, session in zip(editors, sessions, strict=True)
    ]
    assert all(answer()["stopReason"] == "end_turn" for answer in answers)
    for editor in editors:
        editor.close()
    for where in ("conv-001/main", "conv-002/main"):
        texts = desk.texts(where)
        assert [text for text in texts if text.startswith("p")] == [f"p{number}" for number in range(15)]
        assert "".join(texts).count("echo: p") == 15
