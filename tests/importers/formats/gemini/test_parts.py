"""Parts of the Gemini API: contents, calls, responses with their exit codes, and token counts."""

from __future__ import annotations

import pytest

from scopes.importers.formats.gemini_parts import read_parts, read_response, read_usage
from scopes.model.message import Part


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


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"input": 30, "cached": 10, "output": 4, "thoughts": 2}, (20, 10, 6, 2)),
        ({"input": 30, "cached": 10, "output": 4, "tool": 50}, (70, 10, 4, 0)),  # mag123c/toktrack#145
        ({"input": 5, "cached": 10}, (0, 10, 0, 0)),
        ({"input": "30", "cached": None, "output": 4, "thoughts": True}, (0, 0, 4, 0)),
        ({"input": -30, "output": 4}, (0, 0, 4, 0)),
        ({"promptTokenCount": 30, "cachedContentTokenCount": 10, "candidatesTokenCount": 4}, (20, 10, 4, 0)),
        ({"cached": 7}, None),
    ],
)
def test_cached_input_is_part_of_the_input_and_thoughts_are_output(counts, expected):
    found = read_usage(counts)
    names = ("input_uncached", "cache_read", "output", "reasoning")
    assert (None if found is None else tuple(found[name] for name in names)) == expected
    assert found is None or found["raw"] == counts
