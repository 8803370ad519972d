"""The parts of OpenHands events, one by one."""

from __future__ import annotations

import pytest

from scopes.importers.formats.openhands.parts import read_call, read_content, read_reasoning, read_result


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, []), ("a", ["text"]), ([{"type": "text", "text": ""}], []), ([{"type": "text", "text": "a"}, "b"], ["text", "text"]),
        ([{"type": "image", "image_urls": []}], []), ([{"type": "image", "image_urls": ["u", None]}], ["image", "raw"]), ([7], ["raw"]),
    ],
)  # fmt: skip
def test_a_content_is_a_list_of_parts(content, expected):
    assert [part.type for part in read_content(content)] == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"reasoning_content": "a", "thinking_blocks": [{"thinking": "a"}]}, ["a"]), ({"thinking_blocks": [{"thinking": "b"}, 7]}, ["b"]),
        ({"thinking_blocks": None}, []), ({}, []),
    ],
)  # fmt: skip
def test_reasoning_is_read_once(value, expected):
    assert [part.text for part in read_reasoning(value)] == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"tool_name": "t", "tool_call_id": "c", "tool_call": {"arguments": '{"a": 1}'}}, {"call_id": "c", "name": "t", "input": {"a": 1}}),
        ({"tool_call": {"id": "c", "name": "t", "arguments": "{"}}, {"call_id": "c", "name": "t", "input_text": "{"}),
        ({"tool_name": "t", "action": {"kind": "X"}}, {"name": "t", "input": {"kind": "X"}}),
    ],
)  # fmt: skip
def test_a_call_has_the_arguments_that_the_model_wrote(value, expected):
    assert read_call(value).fields == expected


def test_a_call_without_a_name_is_raw():
    assert read_call({"id": "e1"}).type == "raw"


@pytest.mark.parametrize(
    ("observation", "expected"),
    [
        ({"content": [{"type": "text", "text": "a"}], "kind": "X"}, {"output": "a"}),
        ({"content": [], "is_error": True}, {"output": [], "is_error": True}),
        ({"output": "old", "exit_code": 0}, {"output": "old", "exit_code": 0, "is_error": False, "structured": {"output": "old", "exit_code": 0}}),
        ({"content": "x", "exit_code": -1}, {"output": "x", "structured": {"exit_code": -1}}),
    ],
)  # fmt: skip
def test_a_result_has_its_text_its_failure_and_what_else_is_known(observation, expected):
    assert read_result({"observation": observation}, "ObservationEvent").fields == expected


@pytest.mark.parametrize(
    ("value", "kind"),
    [({}, "ObservationEvent"), ({"error": ""}, "AgentErrorEvent"), ({"observation": 7}, "ObservationEvent")],
)
def test_an_event_without_a_result_has_none(value, kind):
    assert read_result(value, kind) is None
