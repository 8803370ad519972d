"""Parts of the Gemini API: contents, calls, responses with their exit codes, and token counts."""

from __future__ import annotations

import pytest

from scopes.importers.formats.gemini.parts import read_call, read_parts, read_response, read_usage
from scopes.importers.formats.lossless_json import decode
from scopes.model.message import Part

COUNTS = ("input", "cached", "output", "thoughts")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, []),
        ("", []),
        ([], []),
        ("Hello.", [("text", {"text": "Hello."})]),
        (["One.", {"text": "Two."}], [("text", {"text": "One."}), ("text", {"text": "Two."})]),
        ([{"text": ""}], [("text", {"text": ""})]),
        ([{"text": "Why?", "thought": True}], [("reasoning", {"text": "Why?"})]),
        ([{"text": "Why?", "thought": False}], [("text", {"text": "Why?"})]),
        ([{"inlineData": {"mimeType": "image/png", "data": "aGk="}}], [("image", {"media_type": "image/png", "data": "aGk="})]),
        ([{"inlineData": {"mimeType": "audio/wav", "data": "aGk="}}], [("file", {"media_type": "audio/wav", "data": "aGk="})]),
        ([{"fileData": {"fileUri": "gs://b/a.pdf"}}], [("file", {"path": "gs://b/a.pdf"})]),
    ],
)  # fmt: skip
def test_each_block_becomes_a_part_of_its_kind(content, expected):
    assert list(read_parts(content)) == [Part(*each) for each in expected]


@pytest.mark.parametrize(
    "block",
    [
        7,
        False,
        [],
        {},
        {"text": 7},
        {"functionCall": "make"},
        {"functionResponse": None},
        {"inlineData": {"mimeType": "image/png"}},
        {"fileData": {"fileUri": None}},
        {"executableCode": {"language": "PYTHON", "code": "1 + 1"}},
    ],
)
def test_a_block_of_unknown_shape_is_kept_raw_between_its_neighbours(block):
    found = list(read_parts(["One.", block, "Two."]))
    assert found == [Part("text", {"text": "One."}), Part("raw", {"json": block}), Part("text", {"text": "Two."})]


@pytest.mark.parametrize(
    ("call", "fields"),
    [
        ({"id": "c1", "name": "replace", "args": {"a": 1}}, {"call_id": "c1", "name": "replace", "input": {"a": 1}}),
        ({"id": "c1", "name": "replace"}, {"call_id": "c1", "name": "replace", "input": None}),
        ({"id": "", "name": "", "args": []}, {"name": "tool", "input": []}),
        ({"id": 7, "name": None, "args": "x"}, {"name": "tool", "input": "x"}),
    ],
)
def test_a_call_has_its_id_name_and_arguments_as_far_as_they_are_given(call, fields):
    assert read_call(call) == Part("tool_call", fields)


def test_arguments_with_a_number_that_python_would_change_are_kept_as_text():
    call = decode('{"id": "c1", "name": "f", "args": {"x": 1e2, "x": 2}}')
    assert read_call(call).fields["input_text"] == '{"x":1e2,"x":2}'


def shell(output, **fields):
    return {"id": "c1", "name": "run_shell_command", "response": {"output": output}, **fields}


@pytest.mark.parametrize(
    ("output", "code", "failed"),
    [
        ("Output: ok\nExit Code: 0\nSignal: 0", 0, False),
        ("Output: no\nExit Code: 2\nSignal: 0", 2, True),
        ("Exit Code: -1", -1, True),
        ("Output: Exit Code: 1", None, False),
        ("Exit Code: one", None, False),
        ("Exit Code: 12345678901", None, False),
        ("Output: echoed\nExit Code: 3\nmore\nExit Code: 0\nSignal: 0", 0, False),
        ("", None, False),
    ],
)
def test_the_exit_code_of_a_shell_is_its_last_line_of_that_form(output, code, failed):
    fields = read_response(shell(output), "success").fields
    assert (fields.get("exit_code"), fields["is_error"]) == (code, failed)


def test_only_the_output_of_a_shell_has_an_exit_code():
    response = {"id": "c1", "name": "read_file", "response": {"output": "Exit Code: 2\n"}}
    assert read_response(response, "success") == Part(
        "tool_result", {"call_id": "c1", "output": "Exit Code: 2\n", "is_error": False}
    )


@pytest.mark.parametrize(
    ("response", "status", "output", "failed"),
    [
        ({"output": "ok"}, "success", "ok", False),
        ({"output": "ok"}, None, "ok", False),
        ({"output": "half"}, "cancelled", "half", True),
        ({"output": "no"}, "error", "no", True),
        ({"error": "denied"}, None, "denied", True),
        ({"output": "ok", "error": "a warning"}, "success", "ok", False),
        ({"llmContent": [1]}, "success", {"llmContent": [1]}, False),
        ({"output": {"deep": [1]}}, "success", {"deep": [1]}, False),
        ({}, "success", {}, False),
        (None, "success", {}, False),
        ("text", "error", {}, True),
    ],
)
def test_a_response_is_an_error_by_its_status_or_because_it_has_nothing_but_one(response, status, output, failed):
    part = read_response({"id": "c1", "name": "read_file", "response": response}, status)
    assert (part.fields["output"], part.fields["is_error"]) == (output, failed)


def test_a_shell_that_was_cancelled_is_an_error_with_exit_code_0_too():
    fields = read_response(shell("Exit Code: 0"), "cancelled").fields
    assert (fields["exit_code"], fields["is_error"]) == (0, True)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"input": 30, "cached": 10, "output": 4, "thoughts": 2}, (20, 10, 6, 2)),
        ({"input": 30, "output": 4}, (30, 0, 4, 0)),
        ({"input": 5, "cached": 10}, (0, 10, 0, 0)),
        ({"output": 4}, (0, 0, 4, 0)),
        ({"input": "30", "cached": None, "output": 4, "thoughts": True}, (0, 0, 4, 0)),
        ({"input": -30, "output": 4}, (0, 0, 4, 0)),
        ({"input": 2.5, "output": 4}, (0, 0, 4, 0)),
    ],
)
def test_cached_input_is_part_of_the_input_and_thoughts_are_output(counts, expected):
    found = read_usage(counts, COUNTS)
    assert tuple(found[name] for name in ("input_uncached", "cache_read", "output", "reasoning")) == expected
    assert found["raw"] == counts


@pytest.mark.parametrize("counts", [{}, {"input": 0, "output": 0}, {"cached": 7}, {"input": "3", "output": []}])
def test_counts_without_input_and_output_are_no_usage(counts):
    assert read_usage(counts, COUNTS) is None
