"""What a part of a message is to a model: the text that it is made of, and which category that counts under."""

from __future__ import annotations

import json
from typing import Any

from scopes.model.message import Message, Part

CATEGORIES = ("text", "reasoning", "tool_input", "tool_result")
_CATEGORY = {"text": "text", "reasoning": "reasoning", "tool_call": "tool_input", "tool_result": "tool_result"}


def texts_of(message: Message) -> list[tuple[str, str]]:
    """Return category and text of every part that has a text, in order; pictures and files have none."""
    found = [(_CATEGORY[part.type], part_text(part)) for part in message.parts if part.type in _CATEGORY]
    if message.payload is not None and not any(category == "text" and text for category, text in found):
        found.append(("text", plain_json(message.payload)))
    return [(category, text) for category, text in found if text]


def part_text(part: Part) -> str:
    """Return a part's text: what a tool got or gave as JSON, unless it is a text or a list of texts."""
    fields = part.fields
    if part.type == "tool_call":
        return f"{fields.get('name', '')} {_value(fields.get('input', fields.get('input_text')))}".strip()
    if part.type == "tool_result":
        return _value(fields.get("output", fields.get("output_text")))
    return part.text


def plain_json(value: Any) -> str:
    """Write a value as JSON that people can read."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _value(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, dict) and isinstance(item.get("text"), str) for item in value):
        return "\n".join(item["text"] for item in value)
    return plain_json(value)
