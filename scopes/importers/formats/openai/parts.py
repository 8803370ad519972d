"""What chat completion messages say, as parts. What has no part of its own is kept raw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.lossless_json import decode, lossless_field
from scopes.model.message import Part

_REASONING = ("reasoning_content", "reasoning")


def read_answer(message: Mapping[str, Any]) -> Iterator[Part]:
    """Read what a model answered: its reasoning, its text or refusal, and its calls."""
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
    """Read a message's content: a text, or parts of several sorts."""
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
    """Read what a tool gave back; the older form names no call."""
    call_id = message.get("tool_call_id")
    fields = {"call_id": call_id} if isinstance(call_id, str) and call_id else {}
    return Part("tool_result", {**fields, **lossless_field("output", message.get("content"))})


def read_arguments(arguments: object) -> dict[str, Any]:
    """Read what a function was given, which is JSON inside a text; what is inexact stays the text that it is."""
    if not isinstance(arguments, str):
        return lossless_field("input", arguments)
    try:
        given = lossless_field("input", decode(arguments))
    except (ValueError, RecursionError):
        return {"input_text": arguments}
    return given if "input" in given else {"input_text": arguments}


def read_file(kind: str, url: str) -> Part:
    """Read an image or another file that is given by its address, which may hold all of it."""
    head, found, data = url.partition(";base64,")
    if found and head.startswith("data:"):
        return Part(kind, {"media_type": head.removeprefix("data:"), "data": data})
    return Part(kind, {"path": url})


def _read_call(call: Any) -> Part:
    match call:
        case {"function": {"name": str(name), **given}} | {"custom": {"name": str(name), **given}}:
            call_id = call.get("id")
            fields = {"call_id": call_id} if isinstance(call_id, str) and call_id else {}
            return Part("tool_call", {**fields, "name": name, **_read_input(given)})
    return Part("raw", lossless_field("json", call))


def _read_input(given: Mapping[Any, Any]) -> dict[str, Any]:
    """Read what a call was given, and of which sort it is where its text does not show it."""
    is_custom = "arguments" not in given
    text = given.get("input")
    if is_custom:
        found = {"input_text": text} if isinstance(text, str) else lossless_field("input", text)
    else:
        found = read_arguments(given["arguments"])
    looks_custom = not str(found.get("input_text", "{")).lstrip().startswith("{")
    return found if "input_text" not in found or looks_custom == is_custom else {**found, "custom": is_custom}
