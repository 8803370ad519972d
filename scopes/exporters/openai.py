"""`openai`: one branch as a list of chat completion messages, the way a model would be given it now.

Amended messages have their new text. Retracted ones are left out, with the results of their calls, and so are the
messages that amend and retract, and what such lists have no place for: reasoning, file references, raw parts, and the
documents of typed messages that also have a text. What was imported from such a list keeps what only that form has: the
role of a developer, names, images in any role, arguments that are no JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from scopes.exporters.json_export import json_text, utf8
from scopes.exporters.selection import Selection
from scopes.history.amendments import find_amendments, latest
from scopes.history.messages import read_message
from scopes.model.message import Message, Part, payload_key
from scopes.store.repository import Repository

_ROLES = {"agent": "assistant", "system": "system", "injected": "system"}  # everybody else is a user
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 64
_OWN = "openai-messages"  # the format of an import that was such a list already
_UNNAMED = frozenset({"user", "tool", _OWN})  # what its authors are called where it did not name them
_ADDRESSES = ("data:", "http://", "https://")


def write_openai(repository: Repository, extent: Selection) -> Iterator[bytes]:
    """Write the messages as one JSON array, one a line; authors are named where several have one role."""
    named = _kinds_of_many(extent)
    own = extent.view.source == _OWN
    separator = "[\n"
    for message in _walk_current(repository, extent):
        for entry in _entries(message, named=message.author.kind in named, own=own):
            yield utf8(separator + json_text(entry))
            separator = ",\n"
    yield b"[]\n" if separator == "[\n" else b"\n]\n"


def _kinds_of_many(extent: Selection) -> set[str]:
    """Return the kinds of author of which there are several."""
    authors = {(head.author_kind, head.author) for head in extent.heads}
    kinds = [kind for kind, _ in authors]
    return {kind for kind in ("human", "agent") if kinds.count(kind) > 1}


def _walk_current(repository: Repository, extent: Selection) -> Iterator[Message]:
    """Yield the messages as they are to be read now."""
    revisions = find_amendments(repository, extent.slices[0].tip, extent.heads)
    known = set(extent.ids.values())
    withdrawn: set[object] = set()  # calls that were never made, so that nothing may answer them
    for head in extent.heads:
        message = read_message(repository, head.oid)
        if message.amends in known or message.retracts in known:
            continue
        current = latest(message, revisions)
        if current is None:
            withdrawn |= {part.fields.get("call_id") for part in message.parts if part.type == "tool_call"}
        else:
            yield replace(message, parts=tuple(_current_parts(message, current, withdrawn)))


def _current_parts(message: Message, current: Message, withdrawn: set[object]) -> Iterator[Part]:
    if current is not message:
        yield from (part for part in current.parts if part.type == "text")
    for part in message.parts:
        replaced = part.type == "text" and current is not message
        orphaned = part.type == "tool_result" and part.fields.get("call_id") in withdrawn
        if not replaced and not orphaned:
            yield part


def _entries(message: Message, *, named: bool, own: bool) -> Iterator[dict[str, Any]]:
    """Lay a message out: what it says and calls, and each result that it carries as an entry of its own."""
    tool = message.tool if own else None
    results = [_result(part, tool) for part in message.parts if part.type == "tool_result"]
    calls = [_call(part) for part in message.parts if part.type == "tool_call"]
    role = "assistant" if calls else _ROLES.get(message.author.kind, "user")
    if role != "assistant":
        yield from results
    blocks = _blocks(message, role, own=own)
    if blocks or calls:
        is_developer = role == "system" and message.extra.get("role") == "developer"
        entry: dict[str, Any] = {"role": "developer" if is_developer else role}
        if own and message.author.name not in _UNNAMED:
            entry["name"] = message.author.name
        elif named:
            entry["name"] = _NOT_IN_NAME.sub("-", message.author.name)[:_LONGEST_NAME]
        entry["content"] = _content(blocks)
        yield {**entry, "tool_calls": calls} if calls else entry
    if role == "assistant":
        yield from results


def _content(blocks: list[dict[str, Any]]) -> Any:
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return blocks[0]["text"]
    return blocks or None


def _blocks(message: Message, role: str, *, own: bool) -> list[dict[str, Any]]:
    """Return the content of a message; a document stands in for a text that is missing."""
    found = [block for part in message.parts if (block := _block(part, role, own=own)) is not None]
    if message.payload is not None and not any(block.get("text") for block in found):
        found.append({"type": "text", "text": json_text({payload_key(message.kind): message.payload})})
    return found


def _block(part: Part, role: str, *, own: bool) -> dict[str, Any] | None:
    if part.type == "text":
        kind = "refusal" if part.fields.get("refusal") is True and role == "assistant" else "text"
        return {"type": kind, kind: part.text}
    if part.type not in {"image", "file"}:
        return None
    path, data, media_type = (part.fields.get(name) for name in ("path", "data", "media_type"))
    url = f"data:{media_type};base64,{data}" if isinstance(data, str) else path
    held = role == "user" or own
    if not held or not isinstance(url, str) or not (own or url.startswith(_ADDRESSES)):
        return {"type": "text", "text": f"[{part.type}: {path or media_type or 'unknown'}]"}
    if part.type == "image":
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"file_data": url}}


def _call(part: Part) -> dict[str, Any]:
    """Lay out a call; a tool that takes plain text is a custom one, if it is not known to be a function."""
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
    """Tell a text, or a list of texts, from what has to be written as JSON."""
    blocks = output if isinstance(output, list) else [] if isinstance(output, str) else [None]
    return all(isinstance(block, dict) and isinstance(block.get("text"), str) for block in blocks)
