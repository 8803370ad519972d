"""Content blocks, tool calls and token counts of ACP as parts of our messages.

Unknown blocks are kept as raw parts, and unknown fields of known ones beside ours.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from scopes.errors import Invalid
from scopes.model import canonical_json
from scopes.model.message import FileTouch, Part
from scopes.model.tools import DELETED, DIFFS
from scopes.secret_patterns import redact_value
from scopes.secret_scan.shown import hide_secrets
from scopes.server.acp.options import unchanged

MAX_DATA_CHARACTERS: Final = 16 << 20  # of one image or sound, in base64; of a larger one only size and hash are kept
MAX_TEXT_CHARACTERS: Final = 48 << 20
_FILE_OPERATIONS = {"read": "read", "edit": "edit", "delete": "delete", "move": "rename"}
_USAGE = {
    "input_uncached": "inputTokens",
    "cache_read": "cachedReadTokens",
    "cache_write": "cachedWriteTokens",
    "output": "outputTokens",
    "reasoning": "thoughtTokens",
}
_KEPT_WITH_BLOCK = ("_meta", "annotations")

Clean = Callable[[Any], Any]


def without_secrets(value: Any) -> Any:
    """Return a JSON value with every secret in its texts replaced: each form that doors know, and short passwords."""
    if isinstance(value, str):
        return hide_secrets(value)
    if isinstance(value, list):
        return [without_secrets(each) for each in value]
    if isinstance(value, dict):
        return {
            hide_secrets(name): hide_secrets(redact_value(name, each))
            if isinstance(each, str)
            else without_secrets(each)
            for name, each in value.items()
        }
    return value


def exact_field(name: str, value: Any) -> dict[str, Any]:
    """Return `{name: value}` if JSON of ours can hold the value, else `{name_text: its JSON text}`."""
    try:
        canonical_json.dump(value)
    except Invalid:
        return {f"{name}_text": json.dumps(value)}
    return {name: value}


def parts_of(blocks: Any, clean: Clean = unchanged) -> list[Part]:
    """Return the content blocks of a prompt or a message as parts, in order."""
    return [part_of(block, clean) for block in blocks] if isinstance(blocks, list) else []


def part_of(block: Any, clean: Clean = unchanged) -> Part:
    """Return one content block as a part."""
    extra: dict[str, Any] = {}
    for name in _KEPT_WITH_BLOCK:
        if isinstance(block, dict) and block.get(name):
            extra |= exact_field(name, clean(block[name]))
    match block:
        case {"type": "text", "text": str(text)}:
            return Part("text", {"text": clean(_shorten(text)), **extra})
        case {"type": ("image" | "audio") as kind, "data": str(data)}:
            media = block.get("mimeType")
            known = {"media_type": media if isinstance(media, str) else f"{kind}/*", **extra}
            return Part("image" if kind == "image" else "file", {**known, **_data_fields(data)})
        case {"type": "resource_link", "uri": str(uri)}:
            return Part("file_ref", {"path": clean(_path_of(uri)), "op": "mention", **extra})
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
            return Part("file", {"path": clean(_path_of(uri)), "text": clean(_shorten(text)), **extra})
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str(data)}}:
            return Part("file", {"path": clean(_path_of(uri)), **_data_fields(data), **extra})
    return Part("raw", exact_field("json", clean(block)))


def _shorten(text: str) -> str:
    if len(text) <= MAX_TEXT_CHARACTERS:
        return text
    return f"{text[:MAX_TEXT_CHARACTERS]}... [{len(text):,} characters, not recorded from here on]"


def _data_fields(data: str) -> dict[str, Any]:
    """Return base64 data, or its size and hash if it is too large to be kept in a message."""
    if len(data) <= MAX_DATA_CHARACTERS:
        return {"data": data}
    encoded = data.encode("ascii", "replace")
    return {"base64_bytes": len(encoded), "content_hash": f"sha256:{hashlib.sha256(encoded).hexdigest()}"}


def _path_of(uri: str) -> str:
    return uri.removeprefix("file://")


def merge_call(known: dict[str, Any], update: Mapping[str, Any]) -> None:
    """Take over what an update says about a tool call: what it does not name stays as it was."""
    known.update({name: value for name, value in update.items() if name != "sessionUpdate" and value is not None})


def call_parts(call: Mapping[str, Any], clean: Clean = unchanged) -> list[Part]:
    """Return a tool call as parts: the call, and its result if it has ended."""
    call_id = str(call.get("toolCallId", ""))
    title = call.get("title")
    given = call.get("rawInput")
    if given is None:
        given = {"title": title} if isinstance(title, str) else {}
    fields = {"call_id": call_id, "name": clean(call_name(call)), **exact_field("input", clean(given))}
    if isinstance(title, str):
        fields["title"] = clean(title)
    parts = [Part("tool_call", fields)]
    if str(call.get("status")) in {"completed", "failed"}:
        parts.append(result_part(call, clean))
    return parts


def result_part(call: Mapping[str, Any], clean: Clean = unchanged) -> Part:
    """Return the result of a tool call that has ended; changed and deleted files are in `structured`."""
    fields: dict[str, Any] = {"call_id": str(call.get("toolCallId", "")), "is_error": call.get("status") == "failed"}
    content = _list(call.get("content"))
    texts = [each["content"]["text"] for each in content if _is_text(each)]
    output = "\n".join(texts) if texts else call.get("rawOutput")
    if output is not None:
        fields |= exact_field("output", clean(output))
    diffs = [each for each in content if isinstance(each, dict) and each.get("type") == "diff"]
    deleted = [each.path for each in call_files(call) if each.op == "delete"]
    structured = {name: found for name, found in ((DIFFS, diffs), (DELETED, deleted)) if found}
    if structured:
        fields |= exact_field("structured", clean(structured))
    return Part("tool_result", fields)


def call_name(call: Mapping[str, Any]) -> str:
    """Return the name of the tool: most agents give only the kind of tool and a title."""
    for value in (call.get("name"), call.get("kind"), call.get("title")):
        if isinstance(value, str) and value.strip() and value != "other":
            return value
    return "tool"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_text(each: Any) -> bool:
    content = each.get("content") if isinstance(each, dict) else None
    return isinstance(content, dict) and content.get("type") == "text" and isinstance(content.get("text"), str)


def call_files(call: Mapping[str, Any]) -> tuple[FileTouch, ...]:
    """Return the files that a tool call read or changed: those of its diffs, then its locations."""
    touches: dict[str, FileTouch] = {}
    for each in _list(call.get("content")):
        match each:
            case {"type": "diff", "path": str(path)}:
                is_new = each.get("oldText") is None
                touches[path] = FileTouch(path, "create" if is_new else "edit")
    operation = _FILE_OPERATIONS.get(str(call.get("kind")))
    for each in _list(call.get("locations")):
        match each:
            case {"path": str(path)} if path not in touches and operation is not None:
                touches[path] = FileTouch(path, "edit" if operation == "rename" else operation)
    return tuple(touches.values())


def usage_of(usage: Any) -> dict[str, Any] | None:
    """Return the token counts of a response in our names, with the original; None if there are none."""
    if not isinstance(usage, dict):
        return None
    counts = {ours: usage.get(theirs) for ours, theirs in _USAGE.items()}
    known = {name: count for name, count in counts.items() if type(count) is int and count >= 0}
    return {**known, **exact_field("raw", usage)} if known else None
