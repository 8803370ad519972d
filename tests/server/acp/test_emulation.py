"""With `--emulate` an editor can list, load and resume sessions of an agent that cannot."""

from __future__ import annotations

import json

import pytest

from tests.cli.running import PRODUCT, scopes
from tests.support.acp_client import AcpError, lines_of


def listed(editor, **params):
    return editor.ask("session/list", params)["sessions"]


def load(editor, desk, session, method="session/load"):
    return editor.ask(method, {"sessionId": session, "cwd": str(desk.project), "mcpServers": []})


def test_the_editor_sees_what_the_agent_lacks_and_everything_else_as_it_was(desk):
    editor = desk.editor("--emulate", initialize=False, fork=True)
    capabilities = editor.initialize()["agentCapabilities"]
    assert capabilities["loadSession"] is True
    assert capabilities["sessionCapabilities"] == {"fork": {}, "list": {}, "resume": {}}
    assert capabilities["x-unknown"] == [1.0]


def test_nothing_is_changed_for_an_agent_that_lacks_nothing(desk):
    editor = desk.editor("--emulate", load=True, resume=True, list=True)
    load_error = pytest.raises(AcpError, match="no such session")
    with load_error:
        load(editor, desk, "agent-9")
    editor.close()
    assert [json.loads(line) for line in editor.received] == [
        json.loads(line) for line in lines_of(desk.folder, "sent")
    ]
    assert lines_of(desk.folder, "received") == editor.sent


def test_sessions_are_listed_newest_first_and_by_directory(desk, tmp_path):
    """S0-1: those of this agent alone."""
    desk.run("settings")
    other = desk.editor("--continue", "never")
    other.prompt(other.open(tmp_path), "elsewhere")
    other.close()
    desk.run("another agent", name="other")
    editor = desk.editor("--emulate")
    assert [each["sessionId"] for each in listed(editor)] == ["agent-2", "agent-1"]
    [here] = listed(editor, cwd=str(desk.project))
    assert (here["title"], here["cwd"]) == ("Login fix", str(desk.project))
    assert here["updatedAt"].endswith("Z")


@pytest.mark.slow
def test_a_fork_has_the_name_of_its_branch_in_its_title(desk):
    """The list of an editor had the same title for all branches of a conversation."""
    desk.run("settings")
    desk.run("aside", options=["--fork"])
    editor = desk.editor("--emulate")
    assert {each["title"] for each in listed(editor)} == {"Login fix", "Login fix (fork/stub)"}


def test_a_session_without_a_title_is_called_as_in_the_list_of_conversations(desk):
    desk.run("repair the  login page\nand the footer")
    editor = desk.editor("--emulate")
    [found] = listed(editor)
    assert found["title"] == "repair the login page and the footer"
    [row] = json.loads(scopes("--store", desk.store.path, "list", "--json", table=PRODUCT).stdout)["conversations"]
    assert found["title"] == row["title"]


def test_a_recorded_session_is_replayed_and_goes_on_with_its_history(desk):
    """S3-4: the agent gets a new session with the history; the editor keeps the id that it knows."""
    desk.run("remember ALPHA-77", "tool")
    editor = desk.editor("--emulate")
    assert "sessionId" not in load(editor, desk, "agent-1")
    kinds = [n["params"]["update"]["sessionUpdate"] for n in editor.notifications]
    assert kinds[:2] == ["user_message_chunk", "agent_message_chunk"]
    assert kinds[2:6] == ["user_message_chunk", "agent_message_chunk", "tool_call", "agent_message_chunk"]
    editor.prompt("agent-1", "what was it")
    editor.close()
    assert editor.chunks("agent-1")[-2:] == ["echo: ", "what was it"]
    assert "ALPHA-77" in desk.prompts()[2][0]
    assert desk.received("session/prompt")[2]["params"]["sessionId"] == "agent-2"
    assert desk.texts()[-2:] == ["what was it", "echo: what was it"]
    assert desk.branches() == ["conv-001/main"]


@pytest.mark.slow
def test_a_session_that_was_continued_under_another_id_is_found_by_its_first_one(desk):
    """S0-8."""
    desk.run("first")
    desk.run("second")
    editor = desk.editor("--emulate")
    load(editor, desk, "agent-1")
    assert editor.chunks("agent-1") == ["echo: first", "echo: second"]


def test_a_load_goes_through_the_resume_of_the_agent_without_a_translation(desk):
    desk.run("first", resume=True)
    editor = desk.editor("--emulate", resume=True)
    assert load(editor, desk, "agent-1") == {"configOptions": [], "x-unknown": 2.0}
    editor.prompt("agent-1", "second")
    assert editor.chunks("agent-1") == ["echo: first", "echo: ", "second"]
    assert desk.prompts() == [["first"], ["second"]]


def test_a_resume_replays_nothing(desk):
    desk.run("first")
    editor = desk.editor("--emulate")
    load(editor, desk, "agent-1", "session/resume")
    assert editor.chunks("agent-1") == []
    editor.prompt("agent-1", "second")
    assert len(desk.prompts()[1]) == 2


def test_a_session_that_is_not_recorded_is_not_found(desk):
    editor = desk.editor("--emulate")
    with pytest.raises(AcpError, match=r"-32002.*agent-7 is not recorded"):
        load(editor, desk, "agent-7")
    assert editor.prompt(editor.open(desk.project), "hello")["stopReason"] == "end_turn"


def test_an_agent_that_opens_no_session_is_an_error_for_the_editor(desk):
    desk.run("first")
    editor = desk.editor("--emulate", "--timeout", "0.3", hang=["session/new"])
    with pytest.raises(AcpError, match="took too long"):
        load(editor, desk, "agent-1")
    editor.kill()


def test_a_new_session_next_to_a_loaded_one_is_another_conversation(desk):
    desk.run("first")
    editor = desk.editor("--emulate", "--continue", "never")
    load(editor, desk, "agent-1")
    new = editor.open(desk.project)
    editor.prompt(new, "new")
    editor.prompt("agent-1", "old")
    editor.close()
    assert desk.texts("conv-001/main")[-2:] == ["old", "echo: old"]
    assert desk.texts("conv-002/main") == ["new", "echo: new"]
