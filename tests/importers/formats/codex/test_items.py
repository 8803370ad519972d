"""Items of the model's history as parts."""

from __future__ import annotations

import pytest

from scopes.importers.formats.codex.items import read_answer_item, read_content, read_result


def part_of(kind, **fields):
    (part,) = read_answer_item({"type": kind, **fields})
    return part


def fields_of(kind, **fields):
    return dict(part_of(kind, **fields).fields)


def test_arguments_that_are_json_are_the_input():
    assert fields_of("function_call", name="exec_command", arguments='{"cmd": "ls", "wait": 1.5}', call_id="c1") == {
        "call_id": "c1", "name": "exec_command", "input": {"cmd": "ls", "wait": 1.5},
    }  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    ['{"wait": 1.0}', '{"a": 1, "a": 2}', '{"n": NaN}', '{"n": 1e5}', '{"cmd": ', "", "ls", '{"a":' * 300, "9" * 5000],
)
def test_arguments_that_are_not_exact_json_stay_text(arguments):
    """C-23, C-24, C-25, C-26; storage, Canonical JSON."""
    found = fields_of("function_call", name="exec_command", arguments=arguments, call_id="c1")
    assert (found["input_text"], "input" in found) == (arguments, False)


def test_arguments_that_are_not_text_are_kept_unchanged():
    assert fields_of("function_call", name="f", arguments={"a": 1}, call_id="c1")["input"] == {"a": 1}


def test_the_input_of_a_custom_tool_is_text():
    assert fields_of("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c1") == {
        "call_id": "c1", "name": "apply_patch", "input_text": "*** Begin Patch",
    }  # fmt: skip


def test_a_call_without_its_own_id_has_the_id_of_the_item():
    assert fields_of("web_search_call", id="ws_1", action={"type": "search", "query": "tea"}) == {
        "call_id": "ws_1", "name": "web_search", "input": {"type": "search", "query": "tea"},
    }  # fmt: skip


def test_a_call_without_a_name_is_a_call():
    assert fields_of("function_call", arguments="{}") == {"name": "unknown", "input": {}}


def test_a_local_command_is_a_call():
    action = {"type": "exec", "command": ["ls", "-l"]}
    assert fields_of("local_shell_call", call_id="c1", status="completed", action=action) == {
        "call_id": "c1", "name": "local_shell", "input": action,
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


@pytest.mark.parametrize("summary", [[], None, "x", [7], [{"text": 7}]])
def test_reasoning_without_a_text_is_reasoning(summary):
    assert fields_of("reasoning", summary=summary) == {}


def test_the_text_of_an_answer_has_its_phase():
    content = [{"type": "output_text", "text": "Yes", "annotations": []}]
    assert fields_of("message", role="assistant", content=content, phase="final_answer") == {
        "text": "Yes",
        "phase": "final_answer",
    }
    assert fields_of("message", role="assistant", content=content) == {"text": "Yes"}


@pytest.mark.parametrize("kind", ["message", "function_call_output", "ghost_snapshot", "compaction", "new", None, 7])
def test_other_items_give_no_part(kind):
    assert read_answer_item({"type": kind, "role": "user"}) is None


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
