"""Export format `openai`: one branch as a list of chat completion messages, with amendments applied.

Amended messages have their new text. Left out are retracted messages with the results of their calls, the messages that
amend or retract, and what the format cannot represent: reasoning, file references, raw parts, and the documents of
typed messages that also have a text. A conversation that was imported from this format keeps what only this format has:
the developer role, names, images in any role, arguments that are not JSON. Merged branches are between system messages
that name them and say what both sides did.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from scopes.exporters.current_messages import walk_current
from scopes.exporters.json_export import json_text, utf8
from scopes.exporters.selection import ExportSelection
from scopes.model.message import Message, Part, payload_key
from scopes.store.repository import Repository

_ROLES = {"agent": "assistant", "system": "system", "injected": "system"}  # any other kind of author is a user
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_NAME_LENGTH = 64
_OPENAI_SOURCE = "openai-messages"  # the source format of a conversation imported from such a list
_UNNAMED = frozenset({"user", "tool", _OPENAI_SOURCE})  # authors that the import gives to messages without a name
_URL_PREFIXES = ("data:", "http://", "https://")


def write_openai(repository: Repository, selection: ExportSelection) -> Iterator[bytes]:
    """Yield one JSON array with one message per line; authors are named if several have the same role."""
    named_kinds = _kinds_with_several_authors(selection)
    from_openai = selection.view.source == _OPENAI_SOURCE
    separator = "[\n"
    for message in walk_current(repository, selection):
        for entry in _entries(message, named=message.author.kind in named_kinds, from_openai=from_openai):
            yield utf8(separator + json_text(entry))
            separator = ",\n"
    yield b"[]\n" if separator == "[\n" else b"\n]\n"


def _kinds_with_several_authors(selection: ExportSelection) -> set[str]:
    authors = {(head.author_kind, head.author) for head in selection.heads}
    kinds = [kind for kind, _ in authors]
    return {kind for kind in ("human", "agent") if kinds.count(kind) > 1}


def _entries(message: Message, *, named: bool, from_openai: bool) -> Iterator[dict[str, Any]]:
    """Yield the entries of a message: one for its content and calls, and one for each tool result."""
    tool = message.tool if from_openai else None
    results = [_result(part, tool) for part in message.parts if part.type == "tool_result"]
    calls = [_call(part) for part in message.parts if part.type == "tool_call"]
    role = "assistant" if calls else _ROLES.get(message.author.kind, "user")
    if role != "assistant":
        yield from results
    blocks = _blocks(message, role, from_openai=from_openai)
    if blocks or calls:
        is_developer = role == "system" and message.extra.get("role") == "developer"
        entry: dict[str, Any] = {"role": "developer" if is_developer else role}
        if from_openai and message.author.name not in _UNNAMED:
            entry["name"] = message.author.name
        elif named:
            entry["name"] = _NOT_IN_NAME.sub("-", message.author.name)[:_MAX_NAME_LENGTH]
        entry["content"] = _content(blocks)
        yield {**entry, "tool_calls": calls} if calls else entry
    if role == "assistant":
        yield from results


def _content(blocks: list[dict[str, Any]]) -> Any:
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return blocks[0]["text"]
    return blocks or None


def _blocks(message: Message, role: str, *, from_openai: bool) -> list[dict[str, Any]]:
    """Return the content of a message; a typed document replaces a missing text."""
    blocks = [block for part in message.parts if (block := _block(part, role, from_openai=from_openai)) is not None]
    if message.payload is not None and not any(block.get("text") for block in blocks):
        blocks.append({"type": "text", "text": json_text({payload_key(message.kind): message.payload})})
    return blocks


def _block(part: Part, role: str, *, from_openai: bool) -> dict[str, Any] | None:
    if part.type == "text":
        kind = "refusal" if part.fields.get("refusal") is True and role == "assistant" else "text"
        return {"type": kind, kind: part.text}
    if part.type not in {"image", "file"}:
        return None
    path, data, media_type = (part.fields.get(name) for name in ("path", "data", "media_type"))
    url = f"data:{media_type};base64,{data}" if isinstance(data, str) else path
    may_embed = role == "user" or from_openai
    if not may_embed or not isinstance(url, str) or not (from_openai or url.startswith(_URL_PREFIXES)):
        return {"type": "text", "text": f"[{part.type}: {path or media_type or 'unknown'}]"}
    if part.type == "image":
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"file_data": url}}


def _call(part: Part) -> dict[str, Any]:
    """Return a tool call; one with text input is a custom tool unless it is known to be a function."""
    name, text = part.fields.get("name") or "unknown", part.fields.get("input_text")
    head = {"id": call_id} if (call_id := part.fields.get("call_id")) is not None else {}
    if isinstance(text, str) and part.fields.get("custom", not text.lstrip().startswith("{")) is True:
        return {**head, "type": "custom", "custom": {"name": name, "input": text}}
    arguments = text if isinstance(text, str) else json_text(part.fields.get("input"))
    return {**head, "type": "function", "function": {"name": name, "arguments": arguments}}


def _result(part: Part, tool: str | None) -> dict[str, Any]:
    output = part.fields.get("output", part.fields.get("output_text"))
    head = {"tool_call_id": call_id} if (call_id := part.fields.get("call_id")) is not None else {}
    head |= {"name": tool} if tool is not None else {}
    return {"role": "tool", **head, "content": output if _is_content(output) else json_text(output)}


def _is_content(output: object) -> bool:
    """Return True for a text or a list of texts; anything else has to be encoded as JSON."""
    blocks = output if isinstance(output, list) else [] if isinstance(output, str) else [None]
    return all(isinstance(block, dict) and isinstance(block.get("text"), str) for block in blocks)
