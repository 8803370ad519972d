"""Convert chat completion messages to message parts. Unknown content is kept raw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.lossless_json import decode, lossless_field
from scopes.model.message import Part

_REASONING = ("reasoning_content", "reasoning")


def read_answer(message: Mapping[str, Any]) -> Iterator[Part]:
    """Convert an answer of the model: reasoning, text or refusal, and tool calls."""
    for name in _REASONING:
        if isinstance(message.get(name), str) and message[name]:
            yield Part("reasoning", {"text": message[name]})
            break
    yield from read_content(message.get("content"))
    if isinstance(message.get("refusal"), str):
        yield Part("text", {"text": message["refusal"], "refusal": True})
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        yield _read_call(call)
    if isinstance(message.get("function_call"), dict):
        yield _read_call({"function": message["function_call"]})


def read_content(content: object) -> Iterator[Part]:
    """Convert the content of a message: a string, or a list of parts."""
    for block in content if isinstance(content, list) else [content] if content is not None else []:
        match block:
            case str(text) | {"type": "text", "text": str(text)}:
                yield Part("text", {"text": text})
            case {"type": "refusal", "refusal": str(text)}:
                yield Part("text", {"text": text, "refusal": True})
            case {"type": "image_url", "image_url": {"url": str(url)} | str(url)}:
                yield read_file("image", url)
            case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(kind)}}:
                yield Part("file", {"media_type": f"audio/{kind}", "data": data})
            case {"type": "file", "file": {"file_data": str(url)}}:
                yield read_file("file", url)
            case _:
                yield Part("raw", lossless_field("json", block))


def read_result(message: Mapping[str, Any]) -> Part:
    """Convert a tool result; the older form has no call id."""
    call_id = message.get("tool_call_id")
    fields = {"call_id": call_id} if isinstance(call_id, str) and call_id else {}
    return Part("tool_result", {**fields, **lossless_field("output", message.get("content"))})


def read_arguments(arguments: object) -> dict[str, Any]:
    """Decode the arguments of a function, JSON in a string; the string is kept if decoding would lose something."""
    if not isinstance(arguments, str):
        return lossless_field("input", arguments)
    try:
        decoded = lossless_field("input", decode(arguments))
    except (ValueError, RecursionError):
        return {"input_text": arguments}
    return decoded if "input" in decoded else {"input_text": arguments}


def read_file(kind: str, url: str) -> Part:
    """Convert an image or file given by its URL, which may be a data URL."""
    head, found, data = url.partition(";base64,")
    if found and head.startswith("data:"):
        return Part(kind, {"media_type": head.removeprefix("data:"), "data": data})
    return Part(kind, {"path": url})


def _read_call(call: Any) -> Part:
    match call:
        case {"function": {"name": str(name), **arguments}} | {"custom": {"name": str(name), **arguments}}:
            call_id = call.get("id")
            fields = {"call_id": call_id} if isinstance(call_id, str) and call_id else {}
            return Part("tool_call", {**fields, "name": name, **_read_input(arguments)})
    return Part("raw", lossless_field("json", call))


def _read_input(call: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the input of a call, with `custom` if the text does not show which kind of call it is."""
    is_custom = "arguments" not in call
    text = call.get("input")
    if is_custom:
        found = {"input_text": text} if isinstance(text, str) else lossless_field("input", text)
    else:
        found = read_arguments(call["arguments"])
    looks_custom = not str(found.get("input_text", "{")).lstrip().startswith("{")
    return found if "input_text" not in found or looks_custom == is_custom else {**found, "custom": is_custom}
