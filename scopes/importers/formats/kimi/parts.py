"""Convert the content of records of Kimi Code to parts of messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.lossless_json import lossless_field
from scopes.importers.formats.openai.parts import read_arguments, read_file
from scopes.model.message import Part

_EXIT_CODE = re.compile(r"Command failed with exit code: (-?\d{1,9})\.?\s*\Z")
_COUNTS = {
    "inputOther": "input_uncached",
    "inputCacheRead": "cache_read",
    "inputCacheCreation": "cache_write",
    "output": "output",
}


def read_content(content: object) -> Iterator[Part]:
    """Convert the content of a message: a text, or parts; unknown parts are kept raw."""
    blocks: list[Any] = content if isinstance(content, list) else [content] if content is not None else []
    for block in blocks:
        match block:
            case str(text) | {"type": "text", "text": str(text)}:
                yield Part("text", {"text": text})
            case {"type": "think", "think": str(text)}:
                opaque = text_field(block, "encrypted")
                yield Part("reasoning", {"text": text, **({} if opaque is None else {"opaque": opaque})})
            case {"type": "image_url", "imageUrl": {"url": str(url)}}:
                yield read_file("image", url)
            case _:
                yield Part("raw", lossless_field("json", block))


def read_call(event: Mapping[str, Any]) -> Part:
    """Convert a call: its id, name and arguments."""
    call = text_field(event, "toolCallId")
    known = {} if call is None else {"call_id": call}
    name = text_field(event, "name") or "tool"
    return Part("tool_call", {**known, "name": name, **read_arguments(event.get("args"))})


def read_result(event: Mapping[str, Any]) -> Part:
    """Convert a result: its output, whether the call failed, and the exit code that the output of a shell ends with."""
    call, result = text_field(event, "toolCallId"), object_field(event, "result")
    fields: dict[str, Any] = {} if call is None else {"call_id": call}
    output = result.get("output", event.get("result"))
    fields |= lossless_field("output", output)
    found = _EXIT_CODE.search(output[-200:]) if isinstance(output, str) else None
    failed = result.get("isError") is True
    if failed or found is not None:
        fields["is_error"] = True
    if failed and found is not None:
        fields["exit_code"] = int(found[1])
    return Part("tool_result", fields)


def read_usage(usage: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the token counts of an answer; the input excludes what the cache had."""
    counts = {ours: n for theirs, ours in _COUNTS.items() if type(n := usage.get(theirs)) is int and n >= 0}
    return {**counts, **lossless_field("raw", dict(usage))} if any(counts.values()) else None
