"""Blocks of content as parts. What has no part of its own is kept raw."""

from __future__ import annotations

from typing import Any

from scopes.importers.claude_code.records import text_of
from scopes.importers.exact_json import foreign
from scopes.model.message import Part

_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_FILES = {"image": "image", "document": "file"}


def read_part(block: Any) -> Part:
    """Read one block, except a tool's result."""
    match block:
        case {"type": "text", "text": str(text)}:
            return Part("text", {"text": text})
        case {"type": "thinking", "thinking": str(text)}:
            signature = text_of(block, "signature")
            return Part("reasoning", {"text": text} if signature is None else {"text": text, "opaque": signature})
        case {"type": "redacted_thinking", "data": str(data)}:
            return Part("reasoning", {"opaque": data})
        case {"type": str(kind), "name": str(name)} if kind in _CALLS:
            return Part("tool_call", {**call_id(block, "id"), "name": name, **foreign("input", block.get("input"))})
    return _read_other(block)


def _read_other(block: Any) -> Part:
    """Read a file, or what a tool of the model's own host gave back inside an answer."""
    match block:
        case {"type": str(kind), "source": {"type": "base64", "media_type": str(media), "data": str(data)}} if (
            kind in _FILES
        ):
            return Part(_FILES[kind], {"media_type": media, "data": data})
        case {"type": str(kind), "source": {"type": "url", "url": str(url)}} if kind in _FILES:
            return Part(_FILES[kind], {"path": url})
        case {"type": str(kind), "tool_use_id": str(), "content": output} if kind.endswith("_tool_result"):
            return Part("tool_result", {**call_id(block, "tool_use_id"), **foreign("output", output)})
    return Part("raw", foreign("json", block))


def call_id(block: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the field that pairs a call with its result, when the block has it."""
    found = text_of(block, name)
    return {} if found is None else {"call_id": found}
