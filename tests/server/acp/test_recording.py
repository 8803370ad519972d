"""What editor and agent say becomes messages of a conversation."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from scopes.cli.invocation import Invocation
from scopes.conversation.branch import branch
from scopes.conversation.undo import list_operations, undo
from scopes.history.messages import read_message_bytes
from scopes.history.metadata import read_metadata
from scopes.history.names import find_directory, list_branch_tips
from scopes.ids import ConversationId
from tests.support.acp_client import AcpError, prompt_params

CONV = ConversationId("conv-001")


def test_a_prompt_and_its_answer_are_two_messages_of_a_new_conversation(desk):
    """S0-3, S0-4: an editor that knows nothing of scopes is recorded."""
    desk.run("hello", message_ids=True)
    prompt, answer = desk.messages()
    assert (prompt.kind, prompt.author.kind, prompt.text) == ("prompt", "human", "hello")
    assert (answer.kind, answer.author, answer.text) == ("answer", ("stub", "agent"), "echo: hello")
    assert (answer.reply_to, answer.stop_reason, answer.model) == (prompt.id, "end_turn", "stub-1")
    assert answer.extra["usage"]["input_uncached"] == 10
    assert answer.extra["acp"]["message_id"] == "m1"


def test_the_answer_of_a_prompt_arrives_when_its_turn_is_in_the_store(desk):
    """S0-7: nothing that the editor has got is only in memory."""
    editor = desk.editor()
    session = editor.open(desk.project)
    for number in range(3):
        editor.prompt(session, f"prompt {number}")
        assert desk.texts()[-2:] == [f"prompt {number}", f"echo: prompt {number}"]


def test_the_record_can_be_read_with_git_and_json_tools(desk):
    """S0-9: the stored line of a message and the entry of its branch are JSON in git objects."""
    desk.run("hello")
    git = ["git", f"--git-dir={desk.store.path}", "cat-file", "-p"]
    line = subprocess.run([*git, "refs/heads/conv-001/main:message.json"], capture_output=True, check=True).stdout
    assert json.loads(line)["parts"] == [{"type": "text", "text": "echo: hello"}]
    entry = subprocess.run([*git, "refs/scopes/meta/conv-001:branches/main"], capture_output=True, check=True).stdout
    assert json.loads(entry)["acp"]["session"] == "agent-1"


def test_a_conversation_knows_its_agent_directory_and_session(desk):
    """S0-1: what the next start looks for is in the entry of the branch; the root has the format and the session."""
    desk.run("hello")
    entry = read_metadata(desk.store, CONV).branches["main"]
    assert entry.agent == "stub"
    assert entry.extra["acp"] == {"agent": "stub", "cwd": str(desk.project), "session": "agent-1"}
    assert find_directory(desk.store, CONV) == str(desk.project)


def test_a_session_without_a_prompt_leaves_no_conversation(desk):
    desk.run()
    assert not desk.events("recording-off")
    assert desk.branches() == []


def test_a_tool_call_is_one_message_with_its_final_state_and_the_permission(desk):
    """S3-13: name, status, files and what the user was asked; the message before it has ended."""
    editor = desk.run("tool please")
    _, before, call, after = desk.messages()
    assert [before.text, after.text] == ["I will edit. ", "Done."]
    assert [part.type for part in call.parts] == ["tool_call", "tool_result"]
    assert call.parts[0].fields["name"] == "edit"
    assert call.parts[1].fields["output"] == "edited"
    assert [(touch.path, touch.op) for touch in call.files] == [("/project/app.py", "edit")]
    assert call.extra["acp"]["permissions"] == [{"outcome": "selected", "option": "Yes", "kind": "allow_once"}]
    assert [request["id"] for request in editor.requests] == [json.loads(editor.sent[-2])["id"]]


def test_files_that_the_agent_writes_through_the_editor_are_recorded_by_size_and_hash(desk):
    desk.run("write_file")
    answer = desk.messages()[-1]
    [call] = answer.extra["acp"]["client_calls"]
    assert (call["method"], call["path"], call["bytes"]) == ("fs/write_text_file", "/project/new.py", 14)
    assert b"secret content" not in read_message_bytes(desk.store, list_branch_tips(desk.store, CONV)["main"])
    assert [touch.path for touch in answer.files] == ["/project/new.py"]


def test_another_message_id_begins_another_message(desk):
    desk.run("two")
    assert desk.texts() == ["two", "one", "two"]


CHOICES = {
    "session/set_model": {"modelId": "stub-2"},
    "session/set_config_option": {"configId": "model", "value": "stub-2"},
}


@pytest.mark.parametrize("method", CHOICES)
def test_a_model_that_the_editor_chooses_is_that_of_the_next_messages(desk, method):
    """S3-25: of both ways to choose one."""
    editor = desk.editor()
    session = editor.open(desk.project)
    editor.prompt(session, "first")
    editor.ask(method, {"sessionId": session, **CHOICES[method]})
    editor.prompt(session, "tool")
    models = [message.model for message in desk.messages()]
    assert models == [None, "stub-1", None, "stub-2", "stub-2", "stub-2"]
    assert desk.messages()[2].extra["acp"]["model"] == "stub-2"


def test_a_model_that_the_agent_refuses_is_not_recorded(desk):
    editor = desk.editor(fail=["session/set_model"])
    session = editor.open(desk.project)
    with pytest.raises(AcpError, match="is broken"):
        editor.ask("session/set_model", {"sessionId": session, "modelId": "stub-2"})
    editor.prompt(session, "first")
    assert desk.messages()[1].model == "stub-1"


def test_a_model_that_the_agent_changes_itself_is_that_of_the_next_messages(desk):
    """S3-25: as OpenCode does, when its own command changes it."""
    desk.run("switch stub-3", "hello")
    assert [message.model for message in desk.messages()] == [None, "stub-1", None, "stub-3"]


def test_a_mode_that_the_editor_chooses_is_kept_with_the_next_message(desk):
    """S3-25."""
    editor = desk.editor()
    session = editor.open(desk.project)
    editor.ask("session/set_mode", {"sessionId": session, "modeId": "plan"})
    editor.prompt(session, "first")
    assert desk.messages()[0].extra["acp"]["mode"] == "plan"


def test_title_mode_model_plan_and_usage_are_kept_as_metadata(desk):
    """S3-25: and the title becomes that of the conversation."""
    desk.run("settings")
    found = desk.messages()[-1].extra["acp"]
    assert (found["mode"], found["model"], found["title"]) == ("plan", "stub-2", "Login fix")
    assert found["config_options"][0]["currentValue"] == "stub-2"
    assert found["plan"][0]["content"] == "look"
    assert found["context_window"] == {"used": 100, "size": 1000}
    assert read_metadata(desk.store, CONV).title == "Login fix"


def test_updates_that_are_not_known_are_kept_with_the_next_message(desk):
    desk.run("unknown")
    [other] = desk.messages()[-1].extra["acp"]["other"]
    assert "compaction_update" in json.dumps(other)


def test_a_call_that_ends_after_its_turn_is_recorded_and_so_is_what_follows(desk):
    desk.run("late")
    _, call, ending, result, afterwards = desk.messages()
    assert [part.type for part in call.parts] == ["tool_call"]
    assert (ending.kind, ending.stop_reason) == ("answer", "end_turn")
    assert (result.kind, result.parts[0].fields["call_id"]) == ("tool-results", "call-9")
    assert afterwards.text == "said afterwards"


def test_a_cancelled_turn_says_so(desk):
    editor = desk.editor()
    session = editor.open(desk.project)
    answer = editor.begin("session/prompt", prompt_params(session, "wait"))
    while not editor.chunks(session):
        pass
    editor.send({"method": "session/cancel", "params": {"sessionId": session}})
    assert answer() == {"stopReason": "cancelled"}
    assert [(m.text, m.stop_reason) for m in desk.messages()] == [("wait", None), ("working", "cancelled")]


def test_an_error_of_the_agent_is_recorded_as_one(desk):
    editor = desk.editor()
    session = editor.open(desk.project)
    with pytest.raises(AcpError, match="the model is gone"):
        editor.prompt(session, "fail")
    editor.close()
    assert [(m.kind, m.text, m.status) for m in desk.messages()][1] == ("error", "the model is gone", "failed")


def test_prompts_at_the_same_time_are_marked_and_none_is_lost(desk):
    """With several prompts open, updates belong to the oldest one."""
    editor = desk.editor(message_ids=True)
    session = editor.open(desk.project)
    answers = [editor.begin("session/prompt", prompt_params(session, f"p{n}")) for n in range(20)]
    assert all(answer()["stopReason"] == "end_turn" for answer in answers)
    editor.close()
    texts = desk.texts()
    assert sorted(text for text in texts if text.startswith("p")) == sorted(f"p{n}" for n in range(20))
    assert sorted(text for text in texts if text.startswith("echo")) == sorted(f"echo: p{n}" for n in range(20))
    assert any(message.extra["acp"].get("concurrent") for message in desk.messages())


def test_a_prompt_that_comes_during_an_answer_does_not_cut_it(desk):
    editor = desk.editor()
    session = editor.open(desk.project)
    first = editor.begin("session/prompt", prompt_params(session, "wait"))
    while not editor.chunks(session):
        pass
    editor.prompt(session, "hello")
    editor.send({"method": "session/cancel", "params": {"sessionId": session}})
    assert first() == {"stopReason": "cancelled"}
    editor.close()
    assert desk.texts() == ["wait", "hello", "", "workingecho: hello"]


@pytest.mark.parametrize(
    ("before", "password", "after"),
    [
        ("password=", "hunter2hunter2", ""),
        ("DB_PASSWORD=", "hunter2hunter2", ""),
        ("password: ", "Tr0ub4dor&3x9", ""),
        ('{"password": "', "Zx9kQw73LmPt", '"}'),
    ],
)
def test_passwords_are_not_recorded_with_redact(desk, before, password, after):
    text = f"{before}{password}{after}"
    desk.run(f"log in with {text}", options=["--secrets", "redact"])
    assert any("log in with" in each for each in desk.texts())
    assert all(password not in each for each in desk.texts())


def test_secrets_are_not_recorded_with_redact(desk):
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    desk.run(f"use {key}", options=["--secrets", "redact"])
    assert all(key not in text and "[redacted" in text for text in desk.texts())
    assert desk.prompts() == [[f"use {key}"]]


def test_the_parameters_of_a_login_are_not_recorded(desk):
    editor = desk.editor(auth=["session/new"])
    with pytest.raises(AcpError, match="login first"):
        editor.open(desk.project)
    editor.ask("authenticate", {"methodId": "key", "_meta": {"key": "hunter2"}})
    editor.prompt(editor.open(desk.project), "hello")
    editor.close()
    stored = [read_message_bytes(desk.store, oid) for oid in list_branch_tips(desk.store, CONV).values()]
    assert not any(b"hunter2" in line for line in stored)


def test_the_arguments_of_the_agent_are_not_recorded(desk):
    """They may have a key in them: the operation names the command without them."""
    desk.run("hello", unused="sk-secret")
    [operation] = list_operations(desk.store).operations
    assert "acp" in operation.command
    assert "sk-secret" not in operation.command
    assert not any("sk-secret" in json.dumps(event) for event in desk.events())


def test_an_image_is_kept_as_a_part_and_a_very_large_one_by_its_hash(desk):
    editor = desk.editor()
    session = editor.open(desk.project)
    blocks = [
        {"type": "image", "mimeType": "image/png", "data": "AAAA"},
        {"type": "audio", "mimeType": "audio/wav", "data": "A" * (17 << 20)},
    ]
    editor.ask("session/prompt", {"sessionId": session, "prompt": [*blocks, {"type": "text", "text": "see"}]})
    image, audio, _ = desk.messages()[0].parts
    assert (image.type, image.fields["data"]) == ("image", "AAAA")
    assert audio.fields["base64_bytes"] == 17 << 20
    assert "data" not in audio.fields


def test_undo_takes_back_what_the_user_did_during_a_session_and_not_its_turns(desk):
    editor = desk.editor()
    session = editor.open(desk.project)
    editor.prompt(session, "one")
    store = Invocation(["branch"], os.environ).repository()
    branch(store, "conv-001", name="keepme")
    editor.prompt(session, "two")
    assert {row.actor for row in list_operations(store).operations if row.actor != "user"} == {"acp"}
    assert undo(store).summary == "create conv-001/keepme"
    assert desk.texts()[:3] == ["one", "echo: one", "two"]
