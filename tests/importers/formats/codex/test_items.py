"""Items of the model's history as parts, outputs of tools, and authors."""

from __future__ import annotations

import pytest

from scopes.importers.formats.codex_items import (
    identify_author,
    read_answer_item,
    read_content,
    read_result,
)

WRAPPED = '{"output":"tea.py\\n","metadata":{"exit_code":%d,"duration_seconds":0.0}}'
CHUNK = "Chunk ID: f8430a\nWall time: 0.0000 seconds\nProcess exited with code %d\nOriginal token count: 11\nOutput:\ntea.py\n"
COMMAND = "Command: /bin/zsh -lc 'ls'\nChunk ID: d4f5e2\nWall time: 0.1 seconds\nProcess exited with code %d\nOutput:\ntea.py\n"
PLAIN = "Exit code: %d\nWall time: 0.1 seconds\nOutput:\ntea.py\n"
RUNNING = (
    "Chunk ID: 1\nWall time: 1.0 seconds\nProcess running with session ID 77\nOutput:\nProcess exited with code 3\n"
)
TYPED = [
    "Sell tea",
    "\n# Files mentioned by the user:\n\n## pot.png: /pot.png",
    "<b>bold</b>",
    "see <environment_context>",
    "",
]
INJECTED = [
    "<environment_context>\n  <cwd>/home/carol</cwd>",
    "# AGENTS.md instructions for /home/carol\n\n<INSTRUCTIONS>",
    "<user_instructions>\n\nBe brief",
    "<skills_instructions>\n## Skills",
    "  <permissions instructions>\nFilesystem",
    "<collaboration_mode># Collab",
    "<apps_instructions>\n## Apps",
    "<user_shell_command>\n<command>ls</command>",
]


def part_of(kind, **fields):
    (part,) = read_answer_item({"type": kind, **fields})
    return part


def fields_of(kind, **fields):
    return dict(part_of(kind, **fields).fields)


def speaker(*texts, kinds=None, role="user", spawned=False, **fields):
    item = {
        "type": "message",
        "role": role,
        "content": [{"type": "input_text", "text": text} for text in texts],
        **fields,
    }
    if kinds is not None:
        item["internal_chat_message_metadata_passthrough"] = {"content_item_kinds": kinds}
    found = identify_author(item, spawned=spawned)
    return (found.author.kind, found.kind) if found else None


def test_arguments_that_are_json_are_the_input():
    assert fields_of("function_call", name="exec_command", arguments='{"cmd": "ls", "wait": 1.5}', call_id="c1") == {
        "call_id": "c1", "name": "exec_command", "input": {"cmd": "ls", "wait": 1.5},
    }  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    ['{"cmd": ', "", "ls", '{"a":' * 300, "9" * 5000],
)
def test_arguments_that_are_no_json_stay_text(arguments):
    """C-23, C-24."""
    found = fields_of("function_call", name="exec_command", arguments=arguments, call_id="c1")
    assert (found["input_text"], "input" in found) == (arguments, False)


def test_a_call_without_its_own_id_has_the_id_of_the_item():
    assert fields_of("web_search_call", id="ws_1", action={"type": "search", "query": "tea"}) == {
        "call_id": "ws_1", "name": "web_search", "input": {"type": "search", "query": "tea"},
    }  # fmt: skip


def test_a_search_for_tools_is_a_call():
    assert fields_of("tool_search_call", call_id="c1", arguments={"query": "mail"})["input"] == {"query": "mail"}
    assert read_result({"type": "tool_search_output", "call_id": "c1", "tools": [{"name": "send"}]}) == {
        "call_id": "c1", "output": [{"name": "send"}],
    }  # fmt: skip


def test_a_generated_image_is_a_call_and_an_image():
    parts = read_answer_item(
        {"type": "image_generation_call", "id": "ig_1", "revised_prompt": "a pot", "result": "iVBORw0K"}
    )
    assert [(part.type, dict(part.fields)) for part in parts] == [
        ("tool_call", {"call_id": "ig_1", "name": "image_generation", "input": {"prompt": "a pot"}}),
        ("image", {"media_type": "image/png", "data": "iVBORw0K"}),
    ]


def test_reasoning_has_its_summary_and_the_encrypted_content():
    summary = [{"type": "summary_text", "text": "First"}, {"type": "summary_text", "text": "Then"}]
    content = [{"type": "reasoning_text", "text": "Raw"}]
    assert fields_of("reasoning", summary=summary, content=content, encrypted_content="c2VhbGVk") == {
        "text": "First\n\nThen\n\nRaw", "opaque": "c2VhbGVk",
    }  # fmt: skip


def test_the_text_of_an_answer_has_its_phase():
    content = [{"type": "output_text", "text": "Yes", "annotations": []}]
    assert fields_of("message", role="assistant", content=content, phase="final_answer") == {
        "text": "Yes",
        "phase": "final_answer",
    }
    assert fields_of("message", role="assistant", content=content) == {"text": "Yes"}


def test_content_is_a_text_or_blocks():
    blocks = [
        "One",
        {"type": "input_text", "text": "Two"},
        {"type": "new", "text": "Three"},
        {"type": "text", "text": 4},
        5,
    ]
    assert [part.fields for part in read_content("Zero")] == [{"text": "Zero"}]
    assert [(part.type, dict(part.fields)) for part in read_content(blocks)] == [
        ("text", {"text": "One"}), ("text", {"text": "Two"}), ("raw", {"json": blocks[2]}), ("raw", {"json": blocks[3]}), ("raw", {"json": 5}),
    ]  # fmt: skip
    assert list(read_content(None)) == []


@pytest.mark.parametrize(
    ("url", "fields"),
    [
        ("data:image/png;base64,iVBORw0K", {"media_type": "image/png", "data": "iVBORw0K"}),
        ("https://example.org/pot.png", {"path": "https://example.org/pot.png"}),
    ],
)
def test_an_image_has_bytes_or_a_url(url, fields):
    (part,) = read_content([{"type": "input_image", "image_url": url, "detail": "high"}])
    assert (part.type, dict(part.fields)) == ("image", fields)


@pytest.mark.parametrize("code", [0, 1, 127, -1])
@pytest.mark.parametrize("form", [CHUNK, COMMAND, PLAIN])
def test_plain_text_output_is_kept_and_its_exit_code_is_read(form, code):
    """Codex 0.98 and later."""
    assert read_result({"output": form % code}) == {"output": form % code, "exit_code": code, "is_error": code != 0}


@pytest.mark.parametrize("code", [0, 2])
def test_wrapped_output_is_the_text_inside(code):
    """Codex 0.36 to 0.73, and patches."""
    assert read_result({"output": WRAPPED % code}) == {"output": "tea.py\n", "exit_code": code, "is_error": code != 0}


@pytest.mark.parametrize(
    "text",
    [
        '{"output":"x"}',
        '{"output":',
        '{"output":7,"metadata":{"exit_code":0}}',
        '{"output":' + "[" * 400,
        '{"output": {}}',
    ],
)
def test_output_that_merely_looks_wrapped_is_text(text):
    assert read_result({"output": text}) == {"output": text}


def test_a_running_process_has_no_exit_code():
    """Text in the output is not part of the header."""
    assert read_result({"output": RUNNING}) == {"output": RUNNING}


@pytest.mark.parametrize(
    "text", ["exec_command failed for `ls`: no", "apply_patch verification failed: Failed to find", "err: gone"]
)
def test_a_call_that_was_refused_is_an_error(text):
    assert read_result({"output": text}) == {"output": text, "is_error": True}


def test_an_output_with_its_success_is_read():
    assert read_result({"output": {"content": "no", "success": False}}) == {"output": "no", "is_error": True}


@pytest.mark.parametrize("text", TYPED)
def test_text_without_a_known_prefix_was_typed(text):
    assert speaker(text) == ("human", "prompt")


@pytest.mark.parametrize("text", INJECTED)
def test_text_added_by_codex_is_injected(text):
    assert speaker(text) == ("injected", "meta")


def test_an_interruption_notice_is_an_interruption():
    assert speaker("<turn_aborted>\nStopped.") == ("injected", "interrupt")


@pytest.mark.parametrize("role", ["developer", "system", "new"])
def test_instructions_are_injected(role):
    assert speaker("Be brief", role=role) == ("injected", "system")


def test_declared_kinds_override_the_text():
    """Codex 0.169 marks the provenance."""
    assert speaker("<environment_context>", kinds=["user.text"]) == ("human", "prompt")
    assert speaker("Sell tea", kinds=["environments.environment_context"]) == ("injected", "meta")
    assert speaker("Look", "x", kinds=["user.text", "user.image"]) == ("human", "prompt")


def test_the_prompt_of_a_sub_agent_is_not_human():
    assert speaker("Look for tea", spawned=True) == ("injected", "prompt")
    assert speaker(INJECTED[0], spawned=True) == ("injected", "meta")
