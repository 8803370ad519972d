"""Convert the parts of OpenCode's messages. A tool part holds a call and its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.lossless_json import lossless_field
from scopes.model.message import Part

_NO_CONTENT = frozenset({"step-start", "step-finish", "snapshot", "patch", "retry", "compaction"})
_USAGE = {"input_uncached": "input", "output": "output", "reasoning": "reasoning"}
_CACHE = {"cache_read": "read", "cache_write": "write"}


def read_part(part: Mapping[str, Any]) -> Iterator[Part]:
    """Convert one part; those without content for a reader become nothing."""
    match part:
        case {"type": str(kind)} if kind in _NO_CONTENT:
            return
        case {"type": "text", "text": str(text)}:
            yield Part("text", {"text": text})
        case {"type": "reasoning", "text": str(text)}:
            yield Part("reasoning", {"text": text})
        case {"type": "tool", "tool": str(name), "state": dict(state)}:
            call = text_field(part, "callID")
            known = {} if call is None else {"call_id": call}
            yield Part("tool_call", {**known, "name": name, **lossless_field("input", state.get("input"))})
            if text_field(state, "status") in {"completed", "error"}:
                yield Part("tool_result", {**known, **_read_result(state)})
        case {"type": "file", "mime": str(media), "url": str(url)}:
            head, found, data = url.partition(";base64,")
            inline = bool(found) and head.startswith("data:")
            yield Part("file", {"media_type": media, "data": data} if inline else {"path": url})
        case _:
            yield Part("raw", lossless_field("json", dict(part)))


def read_usage(tokens: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return token counts; the input count is without cached tokens, and the output count without reasoning."""
    cache = object_field(tokens, "cache")
    counts = {ours: tokens.get(theirs) for ours, theirs in _USAGE.items()}
    counts |= {ours: cache.get(theirs) for ours, theirs in _CACHE.items()}
    known = {name: count for name, count in counts.items() if type(count) is int and count >= 0}
    known["output"] = known.get("output", 0) + known.get("reasoning", 0)
    return {**known, **lossless_field("raw", dict(tokens))} if any(known.values()) else None


def error_text(error: object) -> str:
    """Return the text of an error: its name and message."""
    fields = error if isinstance(error, dict) else {}
    message = text_field(object_field(fields, "data"), "message") or text_field(fields, "message")
    return ": ".join(filter(None, [text_field(fields, "name"), message])) or "error"


def _read_result(state: Mapping[str, Any]) -> dict[str, Any]:
    metadata = object_field(state, "metadata")
    failed = state.get("status") == "error"
    output = state.get("error") if failed else state.get("output")
    fields = {**lossless_field("output", output), "is_error": failed}
    code = metadata.get("exit")
    if type(code) is int:
        fields |= {"exit_code": code, "is_error": failed or code != 0}
    other = {name: value for name, value in metadata.items() if name not in {"exit", "output"}}
    return {**fields, **lossless_field("structured", other)} if other else fields
