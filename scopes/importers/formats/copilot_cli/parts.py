"""Convert the data of events of Copilot CLI to parts of messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.lossless_json import lossless_field
from scopes.importers.formats.openai.parts import read_arguments
from scopes.model.message import Part

_EXIT_CODE = re.compile(r"<exited with exit code (-?\d{1,9})>\s*\Z")
_COUNTS = {"inputTokens": "input_uncached", "cacheReadTokens": "cache_read", "cacheWriteTokens": "cache_write"}


def read_prompt(data: Mapping[str, Any]) -> Iterator[Part]:
    """Convert what the user typed, with the files that were attached."""
    yield from read_text(data)
    attachments = data.get("attachments")
    for each in attachments if isinstance(attachments, list) else []:
        match each:
            case {"type": "file" | "directory", "path": str(path)}:
                yield Part("file_ref", {"path": path, "op": "mention"})
            case _:
                yield Part("raw", lossless_field("json", each))


def read_text(data: Mapping[str, Any]) -> Iterator[Part]:
    """Convert the content of a message; content that is no text is kept raw."""
    content = data.get("content")
    if isinstance(content, str):
        if content:
            yield Part("text", {"text": content})
    elif content is not None:
        yield Part("raw", lossless_field("json", content))


def read_answer(data: Mapping[str, Any]) -> Iterator[Part]:
    """Convert an answer: reasoning, text and calls."""
    text, opaque = text_field(data, "reasoningText"), text_field(data, "reasoningOpaque")
    if text is not None or opaque is not None:
        yield Part("reasoning", {"text": text or "", **({} if opaque is None else {"opaque": opaque})})
    yield from read_text(data)
    calls = data.get("toolRequests")
    for call in calls if isinstance(calls, list) else []:
        match call:
            case {"name": str(name)}:
                known = {} if (call_id := text_field(call, "toolCallId")) is None else {"call_id": call_id}
                yield Part("tool_call", {**known, "name": name, **read_arguments(call.get("arguments"))})
            case _:
                yield Part("raw", lossless_field("json", call))


def read_result(data: Mapping[str, Any]) -> Part:
    """Convert the end of a call: its output or error, and the exit code that the output of a shell ends with."""
    fields: dict[str, Any] = {} if (call_id := text_field(data, "toolCallId")) is None else {"call_id": call_id}
    result, error = data.get("result"), object_field(data, "error")
    output = result.get("content", result) if isinstance(result, dict) else result
    if output is None and error:
        output = text_field(error, "message") or error
    fields |= lossless_field("output", output)
    found = _EXIT_CODE.search(output[-200:]) if isinstance(output, str) else None
    if found is not None:
        fields["exit_code"] = int(found[1])
    failed = data.get("success") is False or (found is not None and int(found[1]) != 0)
    if failed or data.get("success") is True:
        fields["is_error"] = failed
    return Part("tool_result", fields)


def read_usage(data: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the token counts of an answer; the input includes the cache. Old versions only tell the output."""
    counts = {ours: count for theirs, ours in _COUNTS.items() if type(count := data.get(theirs)) is int and count >= 0}
    output = data.get("outputTokens")
    if type(output) is int and output >= 0:
        counts["output"] = output
    if not any(counts.values()):
        return None
    if "input_uncached" in counts:
        cached = counts.get("cache_read", 0) + counts.get("cache_write", 0)
        counts["input_uncached"] = max(0, counts["input_uncached"] - cached)
    raw = {name: data[name] for name in (*_COUNTS, "outputTokens") if name in data}
    return {**counts, **lossless_field("raw", raw)}
