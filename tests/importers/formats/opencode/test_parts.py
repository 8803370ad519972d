"""Parts of OpenCode's messages: a tool part is a call and its result."""

from __future__ import annotations

import pytest

from scopes.importers.formats.opencode.parts import error_text, read_part, read_usage
from scopes.model.message import Part

CALL = Part("tool_call", {"call_id": "c1", "name": "bash", "input": {"command": "make"}})


def tool(status, **state):
    return {
        "type": "tool",
        "tool": "bash",
        "callID": "c1",
        "state": {"status": status, "input": {"command": "make"}, **state},
    }


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "text", "text": "Hi."}, [("text", {"text": "Hi."})]),
        ({"type": "text", "text": ""}, [("text", {"text": ""})]),
        ({"type": "reasoning", "text": "Why?", "time": {"start": 1}}, [("reasoning", {"text": "Why?"})]),
        ({"type": "file", "mime": "image/png", "url": "data:image/png;base64,aGk="}, [("file", {"media_type": "image/png", "data": "aGk="})]),
        ({"type": "file", "mime": "text/plain", "url": "file:///a.py"}, [("file", {"path": "file:///a.py"})]),
        ({"type": "file", "mime": "text/plain", "url": "file:///a;base64,b"}, [("file", {"path": "file:///a;base64,b"})]),
        ({"type": "file", "mime": "text/plain", "url": "data:text/plain,hi"}, [("file", {"path": "data:text/plain,hi"})]),
    ],
)  # fmt: skip
def test_each_part_is_read_by_its_type(part, expected):
    assert list(read_part(part)) == [Part(*each) for each in expected]


@pytest.mark.parametrize("kind", ["step-start", "step-finish", "snapshot", "patch", "retry", "compaction"])
def test_a_part_without_content_for_a_reader_is_left_out(kind):
    assert list(read_part({"type": kind, "text": "not a text", "snapshot": "4b825d"})) == []


@pytest.mark.parametrize(
    "part",
    [
        {},
        {"type": None},
        {"type": "text"},
        {"type": "text", "text": None},
        {"type": "reasoning", "text": ["x"]},
        {"type": "tool", "tool": "bash"},
        {"type": "tool", "tool": "bash", "state": "running"},
        {"type": "tool", "state": {"status": "completed"}},
        {"type": "file", "mime": "image/png"},
        {"type": "agent", "name": "plan"},
        {"type": "subtask", "prompt": "look"},
    ],
)
def test_a_part_of_unknown_shape_is_kept_raw(part):
    assert list(read_part(part)) == [Part("raw", {"json": part})]


@pytest.mark.parametrize("status", ["pending", "running", None, 7, "new-word"])
def test_a_tool_that_has_not_finished_is_a_call_alone(status):
    assert list(read_part(tool(status, output="half"))) == [CALL]


@pytest.mark.parametrize(
    ("state", "fields"),
    [
        (tool("completed", output="ok"), {"output": "ok", "is_error": False}),
        (tool("completed"), {"output": None, "is_error": False}),
        (tool("error", error="denied", output="half"), {"output": "denied", "is_error": True}),
        (tool("completed", output="ok", metadata={"exit": 0}), {"output": "ok", "is_error": False, "exit_code": 0}),
        (tool("completed", output="no", metadata={"exit": 2}), {"output": "no", "is_error": True, "exit_code": 2}),
        (tool("error", error="no", metadata={"exit": 0}), {"output": "no", "is_error": True, "exit_code": 0}),
        (tool("completed", output="ok", metadata={"exit": None}), {"output": "ok", "is_error": False}),
        (tool("completed", output="ok", metadata={"exit": True}), {"output": "ok", "is_error": False}),
        (tool("completed", output="ok", metadata=None), {"output": "ok", "is_error": False}),
        (tool("completed", output="ok", metadata={"output": "ok", "diff": "@@"}), {"output": "ok", "is_error": False, "structured": {"diff": "@@"}}),
    ],
)  # fmt: skip
def test_a_finished_tool_is_a_call_and_a_result_with_its_exit_code(state, fields):
    assert list(read_part(state)) == [CALL, Part("tool_result", {"call_id": "c1", **fields})]


@pytest.mark.parametrize("name", [None, "", 7])
def test_a_tool_without_a_call_id_is_read_without_one(name):
    found = list(read_part({**tool("completed", output="ok"), "callID": name}))
    assert [(part.type, "call_id" in part.fields) for part in found] == [("tool_call", False), ("tool_result", False)]


@pytest.mark.parametrize(
    ("tokens", "counts"),
    [
        ({"input": 20, "output": 4, "reasoning": 1, "cache": {"read": 10, "write": 3}}, (20, 5, 1, 10, 3)),
        ({"input": 20}, (20, 0, None, None, None)),
        ({"reasoning": 2}, (None, 2, 2, None, None)),
        ({"cache": {"read": 7}}, (None, 0, None, 7, None)),
        ({"input": 20, "output": "4", "reasoning": None, "cache": 7}, (20, 0, None, None, None)),
        ({"input": -20, "output": 4, "cache": {"read": True}}, (None, 4, None, None, None)),
    ],
)
def test_output_tokens_include_reasoning_and_input_tokens_no_cache(tokens, counts):
    found = read_usage(tokens)
    names = ("input_uncached", "output", "reasoning", "cache_read", "cache_write")
    assert (tuple(found.get(name) for name in names), found["raw"]) == (counts, tokens)


@pytest.mark.parametrize("tokens", [{}, {"input": 0, "output": 0, "cache": {"read": 0}}, {"input": None}, {"total": 5}])
def test_counts_that_are_all_zero_or_absent_are_no_usage(tokens):
    assert read_usage(tokens) is None


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ({"name": "APIError", "data": {"message": "no"}}, "APIError: no"),
        ({"name": "APIError", "message": "no"}, "APIError: no"),
        ({"name": "APIError", "data": {"message": "inner"}, "message": "outer"}, "APIError: inner"),
        ({"name": "MessageAbortedError"}, "MessageAbortedError"),
        ({"data": {"message": "no"}}, "no"),
        ({"name": 7, "data": "no"}, "error"),
        ({}, "error"),
        ("no", "error"),
        (None, "error"),
    ],
)
def test_an_error_reads_as_its_name_and_message(error, text):
    assert error_text(error) == text
