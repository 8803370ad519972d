"""The text of a message part as a model reads it, and the category under which its tokens are counted."""

from __future__ import annotations

import json
from typing import Any

from scopes.history.messages import summarize_payload
from scopes.model.message import Message, Part

CATEGORIES = ("text", "reasoning", "tool_input", "tool_result")
_CATEGORY = {"text": "text", "reasoning": "reasoning", "tool_call": "tool_input", "tool_result": "tool_result"}


def texts_of(message: Message) -> list[tuple[str, str]]:
    """Return (category, text) of every part that has text, in order; images and files have none."""
    texts = [(_CATEGORY[part.type], part_text(part)) for part in message.parts if part.type in _CATEGORY]
    texts.append(("text", payload_text(message)))
    return [(category, text) for category, text in texts if text]


def payload_text(message: Message) -> str:
    """Return the document of a typed message as one line, worded as in a log; empty if it has none."""
    return summarize_payload(message.payload) if message.payload else ""


def part_text(part: Part) -> str:
    """Return a part's text; tool input and output are JSON unless they are a string or a list of texts."""
    fields = part.fields
    if part.type == "tool_call":
        return f"{fields.get('name', '')} {_value_text(fields.get('input', fields.get('input_text')))}".strip()
    if part.type == "tool_result":
        return _value_text(fields.get("output", fields.get("output_text")))
    return part.text


def _value_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, dict) and isinstance(item.get("text"), str) for item in value):
        return "\n".join(item["text"] for item in value)
    return _to_json(value)


def _to_json(value: Any) -> str:
    """Dump a value as JSON without escaping non-ASCII characters."""
    return json.dumps(value, ensure_ascii=False, default=str)
