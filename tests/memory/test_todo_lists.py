"""To-do lists in the calls of any tool."""

from __future__ import annotations

import json

import pytest

from scopes.history.messages import plain_message
from scopes.memory.source_messages import find_todo_list
from scopes.model.message import Message, Part

STEPS = [{"step": "look", "status": "completed"}, {"step": "act", "status": "pending"}]


def calling(*inputs):
    """Return a message with a tool call for each input."""
    message = plain_message("planner", "")
    parts = tuple(Part("tool_call", {"name": "x", "call_id": "1", "input": given}) for given in inputs)
    return Message(**{name: getattr(message, name) for name in message.__slots__} | {"parts": parts})


@pytest.mark.parametrize("given", [{"plan": STEPS}, {"todos": STEPS, "x": 1}, json.dumps({"plan": STEPS})])
def test_a_todo_list_is_recognized_by_its_shape(given):
    assert find_todo_list(calling(given)) == {"look": True, "act": False}


@pytest.mark.parametrize(
    "given",
    [
        None, 7, "", "plan", '"plan" {', {"plan": "none"}, {"plan": []}, {"plan": [1, {"step": 2}, {"status": "x"}]},
        {"plan": [{"step": " ", "status": "pending"}]}, {"path": "a"}, [STEPS], '"plan"' + "[" * 100_000,
    ],
)  # fmt: skip
def test_other_inputs_are_not_todo_lists(given):
    assert find_todo_list(calling(given)) is None


def test_the_last_of_several_todo_lists_counts():
    assert find_todo_list(calling({"plan": STEPS}, {"plan": STEPS[:1]}, {"path": "a"})) == {"look": True}
