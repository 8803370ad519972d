"""Convert the parts of the Gemini API: texts, thoughts, function calls and their responses, and counts of tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.fields import object_field, text_field
from scopes.model.message import Part

_SHELL = "run_shell_command"
_EXIT_CODE = re.compile(r"^Exit Code: (-?\d{1,9})$", re.MULTILINE)
_FAILED = frozenset({"error", "cancelled"})
_COUNTS = (  # by their names in the sums of a run, in the API, in the sums of a stream, and in session files
    ("prompt", "promptTokenCount", "input_tokens", "input"),  # sums also have the uncached ones as `input`
    ("cached", "cachedContentTokenCount"),
    ("candidates", "candidatesTokenCount", "output_tokens", "output"),
    ("thoughts", "thoughtsTokenCount"),
    ("tool", "toolUsePromptTokenCount"),
)


def read_parts(content: object) -> Iterator[Part]:
    """Convert the content of a message, a text or parts; unknown parts are kept raw."""
    for block in content if isinstance(content, list) else [content] if content is not None else []:
        match block:
            case {"text": str(text), "thought": True}:
                yield Part("reasoning", {"text": text})
            case str(text) | {"text": str(text)}:
                if text or not isinstance(block, str):
                    yield Part("text", {"text": text})
            case {"functionCall": dict(call)}:
                yield read_call(call)
            case {"functionResponse": dict(response)}:
                yield read_response(response, None)
            case {"inlineData": {"mimeType": str(media), "data": str(data)}}:
                kind = "image" if media.startswith("image/") else "file"
                yield Part(kind, {"media_type": media, "data": data})
            case {"fileData": {"fileUri": str(path)}}:
                yield Part("file", {"path": path})
            case _:
                yield Part("raw", {"json": block})


def read_call(call: Mapping[str, Any]) -> Part:
    """Convert a call: its id, name and arguments."""
    name = text_field(call, "id")
    known = {} if name is None else {"call_id": name}
    return Part("tool_call", {**known, "name": text_field(call, "name") or "tool", "input": call.get("args")})


def read_response(response: Mapping[str, Any], status: str | None) -> Part:
    """Convert a response: its output or error, and the exit code that the output of a shell ends with."""
    name = text_field(response, "id")
    fields: dict[str, Any] = {} if name is None else {"call_id": name}
    content = object_field(response, "response")
    output = content.get("output", content.get("error", content))
    fields |= {"output": output}
    failed = status in _FAILED or ("error" in content and "output" not in content)
    fields["is_error"] = failed
    codes = _EXIT_CODE.findall(output) if isinstance(output, str) and response.get("name") == _SHELL else []
    if codes:
        fields |= {"exit_code": int(codes[-1]), "is_error": failed or int(codes[-1]) != 0}
    return Part("tool_result", fields)


def read_counts(usage: Mapping[str, Any]) -> dict[str, int] | None:
    """Return token counts; None if there are none of input or output.

    The input count includes the cached tokens, but not those of the results of tools that the API itself has run.
    Thoughts are not part of the output count.
    """
    known = {name: count for name, count in usage.items() if type(count) is int and count > 0}
    given, cached, output, thoughts, tool = (
        next((known[name] for name in names if name in known), 0) for names in _COUNTS
    )
    if not (given or output):
        return None
    uncached = max(0, given - cached) + tool
    return {"input_uncached": uncached, "cache_read": cached, "output": output + thoughts, "reasoning": thoughts}


def read_usage(usage: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the usage of an answer; None if it has no token counts."""
    counts = read_counts(usage)
    return None if counts is None else {**counts, "raw": dict(usage)}
