"""Export format `openai`: one branch as a list of chat completion messages, with amendments applied.

Amended messages have their new text. Left out are retracted messages with the results of their calls, the messages that
amend or retract, and what the format cannot represent: reasoning, file references, raw parts, and the documents of
typed messages that also have a text. Merged branches are between messages that name them and say what both sides did.

An interface of a model refuses a list that breaks its rules: each call has one result, directly behind its answer; a
result without a call is a text; system messages come first, later ones are of the user; messages of the same role and
name in a row are one. A conversation that was imported from this format is exported as it was, with the developer role,
names, images in any role, arguments that are not JSON, and calls that wait for a result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from scopes.exporters.json_export import json_text, utf8
from scopes.exporters.selection import ExportSelection, walk_current
from scopes.model.message import Message, Part, payload_key
from scopes.store.repository import Repository

_ROLES = {"agent": "assistant", "system": "system", "injected": "system"}  # any other kind of author is a user
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_NAME_LENGTH = 64
_OPENAI_SOURCE = "openai-messages"  # the source format of a conversation imported from such a list
_UNNAMED = frozenset({"user", "tool", _OPENAI_SOURCE})  # authors that the import gives to messages without a name
NO_RESULT = "[no result recorded]"
_MAX_WAITING = 64  # entries between a call and its result
_URL_PREFIXES = ("data:", "http://", "https://")


def write_openai(repository: Repository, selection: ExportSelection) -> Iterator[bytes]:
    """Yield one JSON array with one message per line; authors are named if several have the same role."""
    named_kinds = _kinds_with_several_authors(selection)
    from_openai = selection.view.source == _OPENAI_SOURCE
    messages = walk_current(repository, selection)
    entries = (
        entry
        for message in messages
        for entry in _entries(message, named=message.author.kind in named_kinds, from_openai=from_openai)
    )
    separator = "[\n"
    for entry in entries if from_openai else _join_roles(_answer_calls(entries)):
        yield utf8(separator + json_text(entry))
        separator = ",\n"
    yield b"[]\n" if separator == "[\n" else b"\n]\n"


@dataclass(slots=True)
class _Waiting:
    """An entry, the results of its calls so far, and the ids of those that have none."""

    entry: dict[str, Any]
    open_calls: set[str]
    results: list[dict[str, Any]] = field(default_factory=list)

    def finish(self) -> Iterator[dict[str, Any]]:
        """Yield the entry and a result for each of its calls, in the order of the calls."""
        yield self.entry
        found = {result["tool_call_id"]: result for result in self.results}
        for call in self.entry.get("tool_calls", ()):
            yield found.get(call["id"]) or {"role": "tool", "tool_call_id": call["id"], "content": NO_RESULT}


def _answer_calls(entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield entries with a result for each call behind it; a call waits until a prompt or some entries have come."""
    waiting: list[_Waiting] = []
    for number, entry in enumerate(entries):
        if entry["role"] == "tool":
            call_id = entry.get("tool_call_id")
            owner = next((each for each in waiting if call_id in each.open_calls), None)
            if owner is not None:
                owner.open_calls.discard(call_id)
                owner.results.append(entry)
            else:
                waiting.append(_Waiting(_without_call(entry), set()))
        else:
            if entry["role"] == "user" or len(waiting) > _MAX_WAITING:
                yield from (each for waited in waiting for each in waited.finish())
                waiting = []
            calls = entry.get("tool_calls", ())
            names = [call.get("id") for call in calls]
            for place, call in enumerate(calls):
                if call.get("id") is None or call["id"] in names[:place]:
                    call["id"] = f"call-{number}-{place}"
            waiting.append(_Waiting(entry, {call["id"] for call in calls}))
        while waiting and not waiting[0].open_calls:
            yield from waiting.pop(0).finish()
    yield from (each for waited in waiting for each in waited.finish())


def _without_call(entry: dict[str, Any]) -> dict[str, Any]:
    content = entry["content"]
    text = content if isinstance(content, str) else "\n".join(block["text"] for block in content)
    return {"role": "user", "content": f"[result of a call that is not recorded]\n{text}"}


def _join_roles(entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield entries with system ones at the beginning only, and those of one role and name in a row as one."""
    last: dict[str, Any] | None = None
    for entry in entries:
        if entry["role"] == "system" and last is not None and last["role"] != "system":
            entry["role"] = "user"
        if last is None:
            last = entry
        elif entry["role"] != "tool" and all(last.get(key) == entry.get(key) for key in ("role", "name")):
            last["content"] = _content([*_as_blocks(last["content"]), *_as_blocks(entry["content"])])
            last |= {"tool_calls": entry["tool_calls"]} if "tool_calls" in entry else {}
        else:
            yield last
            last = entry
    if last is not None:
        yield last


def _as_blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


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
