"""Convert what a bubble of Cursor's editor has: text, reasoning, files that it mentions, a call with its result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from scopes.clock import parse_time
from scopes.importers.formats.cursor.cells import read_object
from scopes.importers.formats.fields import number_field, object_field, read_arguments, text_field, time_of_milliseconds
from scopes.model.message import Part

_OUTPUTS = ("output", "contents", "content", "diff")  # fields of a result that hold the text of it
_EXIT_CODES = ("exitCode", "exitCodeV2")
_FAILED = frozenset({"error", "failed", "cancelled", "canceled", "aborted", "rejected"})
_ENDED = frozenset({"completed", "success", *_FAILED})
_DRIVE = re.compile(r"/[A-Za-z]:")
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")


def read_time(*values: object) -> str | None:
    """Return the first of some times: milliseconds since 1970, or RFC 3339."""
    for value in values:
        time = time_of_milliseconds(value)
        if time is None and isinstance(value, str):
            time = value if parse_time(value) is not None else None
        if time is not None:
            return time
    return None


def read_directory(value: object) -> str | None:
    """Return the absolute path in a URI of VS Code, which is an object or a text; None if there is none."""
    match value:
        case {"fsPath": str(path)} | {"path": str(path)} if path:
            pass
        case str(uri):
            path = _unescape(uri.removeprefix("file://"))
            path = path[1:] if _DRIVE.match(path) else path
        case _:
            return None
    return path if path.startswith("/") or _DRIVE.match(f"/{path}") else None


def read_prompt(bubble: Mapping[str, Any]) -> Iterator[Part]:
    """Convert a bubble of the user: what was typed, and the files that were attached to it."""
    if text := _text_of(bubble):
        yield Part("text", {"text": text})
    selections = object_field(bubble, "context").get("fileSelections")
    selected = selections if isinstance(selections, list) else []
    paths = [read_directory(each.get("uri")) for each in selected if isinstance(each, dict)]
    for path in dict.fromkeys(path for path in paths if path is not None):
        yield Part("file_ref", {"path": path, "op": "mention"})


def read_words(bubble: Mapping[str, Any]) -> Iterator[Part]:
    """Convert the reasoning and the text of a bubble of the agent; old versions have the code apart from the text."""
    thinking = bubble.get("thinking")
    reasoning = text_field(thinking, "text") if isinstance(thinking, dict) else thinking
    if isinstance(reasoning, str) and reasoning:
        yield Part("reasoning", {"text": reasoning})
    text = _text_of(bubble)
    blocks = bubble.get("codeBlocks")
    if not text and isinstance(blocks, list):
        text = "\n\n".join(_fenced(each) for each in blocks if isinstance(each, dict) and text_field(each, "content"))
    if text:
        yield Part("text", {"text": text})


def read_call(call: Mapping[str, Any], name: str) -> Iterator[Part]:
    """Convert a call, and its result if it has ended; `name` is that of its bubble."""
    call_id = text_field(call, "toolCallId") or f"bubble-{name}"
    given = [each for each in (call.get("rawArgs"), call.get("params")) if each]
    arguments = next((each for each in given if isinstance(each, dict) or read_object(each) is not None), None)
    arguments = arguments if arguments is not None or not given else given[0]
    fields = {} if arguments is None else read_arguments(arguments)
    yield Part("tool_call", {"call_id": call_id, "name": text_field(call, "name") or "tool", **fields})
    status, result = text_field(call, "status"), call.get("result")
    error = call.get("error")
    if status not in _ENDED and not result and not error:
        return
    fields = _read_output(result, error)
    is_refused = call.get("userDecision") == "rejected" or object_field(call, "additionalData").get("status") == "error"
    if status in _FAILED or is_refused or error:
        fields["is_error"] = True
    yield Part("tool_result", {"call_id": call_id, **fields})


def read_usage(bubble: Mapping[str, Any], before: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the token counts of an answer with those of a bubble; newer versions count nothing.

    Whether the input has cached tokens in it is not known; all of it counts as not cached.
    """
    count = object_field(bubble, "tokenCount")
    given, output = (int(max(0, number_field(count, name) or 0)) for name in ("inputTokens", "outputTokens"))
    if not given and not output:
        return before
    known = before or {"input_uncached": 0, "output": 0, "raw": []}
    return {
        "input_uncached": known["input_uncached"] + given,
        "output": known["output"] + output,
        "raw": [*known["raw"], {"inputTokens": given, "outputTokens": output}],
    }


def _read_output(result: object, error: object) -> dict[str, Any]:
    """Return the output of a call, and its structured result, which Cursor keeps as JSON in a string."""
    known = read_object(result) if isinstance(result, str) else result if isinstance(result, dict) else None
    if known is None:
        return {"output": result or error or ""}
    texts = (known[name] for name in _OUTPUTS if isinstance(known.get(name), str))
    fields = {"output": next(texts, result)}
    fields |= {"structured": known}
    code = next((known[name] for name in _EXIT_CODES if type(known.get(name)) is int), None)
    if code is not None and code >= 0:
        fields |= {"exit_code": code, **({"is_error": True} if code else {})}
    return fields


def _unescape(text: str) -> str:
    data = _ESCAPED.sub(lambda found: bytes.fromhex(found[1].decode()), text.encode("utf-8", "surrogatepass"))
    return data.decode("utf-8", "replace")


def _text_of(bubble: Mapping[str, Any]) -> str:
    return text_field(bubble, "text") or text_field(bubble, "rawText") or ""


def _fenced(block: Mapping[str, Any]) -> str:
    return f"```{text_field(block, 'languageId') or ''}\n{block['content']}\n```"
