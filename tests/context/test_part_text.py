"""The text of message parts as a model reads it."""

from __future__ import annotations

import pytest

from scopes.context.part_text import part_text, texts_of
from scopes.model.message import Author, Message, Part


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (Part("text", {"text": "hello"}), "hello"),
        (Part("tool_call", {"name": "bash", "input": {"command": "é"}}), 'bash {"command": "é"}'),
        (Part("tool_call", {"name": "patch", "input_text": "*** Begin"}), "patch *** Begin"),
        (Part("tool_call", {}), ""),
        (Part("tool_result", {"output_text": "done"}), "done"),
        (Part("tool_result", {"output": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}), "a\nb"),
        (Part("tool_result", {"output": {"exit": 1}}), '{"exit": 1}'),
        (Part("tool_result", {"output": None}), ""),
        (Part("text", {"text": 5}), ""),
    ],
)
def test_text_calls_and_results_have_their_text(part, text):
    assert part_text(part) == text


def test_empty_and_unknown_parts_have_no_category():
    parts = (Part("text", {"text": ""}), Part("raw", {"text": "x"}), Part("image", {"data": "eA=="}))
    assert texts_of(Message(id="m", author=Author("a"), parts=parts)) == []


def test_a_payload_is_the_text_of_a_message_without_text():
    message = Message(id="m", author=Author("a"), parts=(), payload={"goal": "ship"})
    assert texts_of(message) == [("text", "goal: ship")]
