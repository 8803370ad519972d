"""Parts of chat completion messages."""

from __future__ import annotations

import pytest

from scopes.importers.formats.openai.parts import read_answer, read_content, read_result


def answer(**fields):
    return [(part.type, dict(part.fields)) for part in read_answer({"role": "assistant", **fields})]


def content(*blocks):
    return [(part.type, dict(part.fields)) for part in read_content(list(blocks))]


def call(name="look", arguments="{}", **fields):
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}, **fields}


def test_an_answer_is_its_reasoning_its_text_and_its_calls():
    found = answer(content="I look.", reasoning_content="Hm", tool_calls=[call(arguments='{"where": "shop"}')])
    assert found == [
        ("reasoning", {"text": "Hm"}),
        ("text", {"text": "I look."}),
        ("tool_call", {"call_id": "c1", "name": "look", "input": {"where": "shop"}}),
    ]


@pytest.mark.parametrize(
    "nothing",
    [{}, {"content": None}, {"content": []}, {"tool_calls": None}, {"function_call": None}, {"refusal": None}],
)
def test_an_answer_can_be_empty(nothing):
    assert answer(**nothing) == []


def test_reasoning_under_two_names_is_read_once():
    assert answer(reasoning="Hm") == [("reasoning", {"text": "Hm"})]
    assert len(answer(reasoning="Hm", reasoning_content="Hm")) == 1


def test_a_refusal_is_a_text_part_marked_as_refusal():
    assert answer(refusal="No.") == [("text", {"text": "No.", "refusal": True})]
    assert content({"type": "refusal", "refusal": "No."}) == [("text", {"text": "No.", "refusal": True})]


def test_the_older_form_of_a_call_has_no_id():
    assert answer(function_call={"name": "look", "arguments": "{}"}) == [("tool_call", {"name": "look", "input": {}})]


@pytest.mark.parametrize("arguments", ['{"n": 1.0}', '{"a":1,"a":2}', "", "{", '{"a":' * 300, "9" * 5000])
def test_arguments_that_are_not_exact_json_stay_text(arguments):
    assert answer(tool_calls=[call(arguments=arguments)])[0][1]["input_text"] == arguments


def test_arguments_that_are_not_text_are_kept_unchanged():
    assert answer(tool_calls=[call(arguments={"a": 1})])[0][1]["input"] == {"a": 1}


def test_the_input_of_a_custom_tool_is_text():
    custom = {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": '{"a":1}'}}
    given = {"call_id": "c1", "name": "patch", "input_text": '{"a":1}', "custom": True}
    assert answer(tool_calls=[custom]) == [("tool_call", given)]


@pytest.mark.parametrize("given", [7, None, {}, {"function": {}}, {"function": {"name": 7}}, "look"])
def test_a_call_of_another_shape_is_kept_raw(given):
    assert answer(tool_calls=[given]) == [("raw", {"json": given})]


@pytest.mark.parametrize("name", [7, "", None])
def test_a_call_with_an_invalid_id_has_none(name):
    assert "call_id" not in answer(tool_calls=[call(id=name)])[0][1]


def test_images_have_bytes_or_a_url():
    assert content({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K", "detail": "high"}}) == [
        ("image", {"media_type": "image/png", "data": "iVBORw0K"}),
    ]
    assert content({"type": "image_url", "image_url": "https://example.org/pot.png"}) == [
        ("image", {"path": "https://example.org/pot.png"}),
    ]


def test_audio_and_files_are_files():
    assert content({"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}) == [
        ("file", {"media_type": "audio/wav", "data": "UklGRg=="}),
    ]
    assert content(
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"}}
    ) == [
        ("file", {"media_type": "application/pdf", "data": "JVBE"}),
    ]


@pytest.mark.parametrize(
    "block", [7, None, {}, {"type": "text"}, {"type": "text", "text": 7}, {"type": "new", "x": 1}, ["x"]]
)
def test_a_block_of_another_shape_is_kept_raw(block):
    assert content(block) == [("raw", {"json": block})]


def test_content_is_text_or_blocks_or_absent():
    assert [dict(part.fields) for part in read_content("Hi")] == [{"text": "Hi"}]
    assert content("Hi", {"type": "text", "text": "there"}) == [("text", {"text": "Hi"}), ("text", {"text": "there"})]
    assert list(read_content(None)) == []


def test_a_result_names_its_call():
    assert read_result({"tool_call_id": "c1", "content": "done"}).fields == {"call_id": "c1", "output": "done"}
    assert read_result({"name": "look", "content": [{"type": "text", "text": "x"}]}).fields == {
        "output": [{"type": "text", "text": "x"}]
    }
    assert read_result({"tool_call_id": 7}).fields == {"output": None}
