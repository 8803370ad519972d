"""Convert the contents of OpenHands events: texts and images, calls, and their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.lossless_json import lossless_field
from scopes.importers.formats.openai.parts import read_arguments, read_file
from scopes.model.message import Part

_SHOWN = frozenset({"content", "is_error", "kind"})  # fields of an observation that the result has elsewhere


def read_content(content: object) -> Iterator[Part]:
    """Convert a list of contents; empty texts are left out."""
    for block in content if isinstance(content, list) else [content] if content is not None else []:
        match block:
            case str(text) | {"type": "text", "text": str(text)}:
                if text:
                    yield Part("text", {"text": text})
            case {"type": "image", "image_urls": list(urls)}:
                for url in urls:
                    yield read_file("image", url) if isinstance(url, str) else Part("raw", lossless_field("json", url))
            case _:
                yield Part("raw", lossless_field("json", block))


def read_reasoning(value: Mapping[str, Any]) -> Iterator[Part]:
    """Convert the reasoning of an answer, which thinking blocks may repeat with a signature."""
    text = text_field(value, "reasoning_content")
    if text is not None:
        yield Part("reasoning", {"text": text})
        return
    blocks = value.get("thinking_blocks")
    for block in blocks if isinstance(blocks, list) else []:
        if isinstance(block, dict) and isinstance(block.get("thinking"), str):
            yield Part("reasoning", {"text": block["thinking"]})


def read_call(value: Mapping[str, Any]) -> Part:
    """Convert the call of an action event."""
    call = object_field(value, "tool_call")
    name = text_field(value, "tool_name") or text_field(call, "name")
    if name is None:
        return Part("raw", lossless_field("json", dict(value)))
    call_id = text_field(value, "tool_call_id") or text_field(call, "id")
    known = {} if call_id is None else {"call_id": call_id}
    given = read_arguments(call["arguments"]) if "arguments" in call else lossless_field("input", value.get("action"))
    return Part("tool_call", {**known, "name": name, **given})


def read_result(value: Mapping[str, Any], kind: str) -> Part | None:
    """Convert the result of a call; None if it has none."""
    call_id = text_field(value, "tool_call_id")
    fields: dict[str, Any] = {} if call_id is None else {"call_id": call_id}
    if kind != "ObservationEvent":
        text = text_field(value, "error") or text_field(value, "rejection_reason")
        return None if text is None else Part("tool_result", {**fields, "output": text, "is_error": True})
    observation = object_field(value, "observation")
    if not observation:
        return None
    fields |= lossless_field("output", _output_of(observation.get("content", observation.get("output"))))
    if isinstance(observation.get("is_error"), bool):
        fields["is_error"] = observation["is_error"]
    code = observation.get("exit_code")
    if type(code) is int and code >= 0:
        fields |= {"exit_code": code, "is_error": fields.get("is_error") is True or code != 0}
    other = {name: each for name, each in observation.items() if name not in _SHOWN}
    return Part("tool_result", {**fields, **(lossless_field("structured", other) if other else {})})


def _output_of(content: object) -> object:
    """Return a content as text if it is a list of one text."""
    match content:
        case [{"type": "text", "text": str(text)}]:
            return text
    return content
