"""Convert the nodes of a ChatGPT conversation, by the role of their author and the type of their content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.fields import number_field, object_field, text_field
from scopes.importers.formats.json_lines import Record
from scopes.importers.formats.lossless_json import lossless_field
from scopes.importers.formats.message_trees import Node
from scopes.importers.formats.object_lists import short_word
from scopes.importers.formats.openai.parts import read_arguments
from scopes.importers.formats.run_builder import (
    ANSWER,
    HUMAN,
    INJECTED,
    META,
    PROMPT,
    RESULTS,
    TOOL,
    OpenMessage,
    time_of_seconds,
)
from scopes.model.message import Author, Part

CALL = "call"  # mark of an answer that calls a tool
_CONTEXT = frozenset({"user_editable_context", "model_editable_context"})
_CONTEXT_TEXTS = ("user_profile", "user_instructions", "model_set_context")
_ROLES = frozenset({"system", "user", "assistant", "tool"})


def read_node(record: Record, agent: str) -> Node:
    """Convert a node; one without a message, or with an empty one, is a state."""
    value = record.value if isinstance(record.value, dict) else {}
    message = value.get("message")
    node = Node(record, text_field(value, "id"), text_field(value, "parent"))
    if record.problem is not None or not value:
        node.problem = "not a node"
    elif isinstance(message, dict):
        role = text_field(object_field(message, "author"), "role")
        if role in _ROLES:
            node.message = _read_message(record, message, str(role), agent)
            node.state = f"empty/{role}"
        else:
            node.problem = f"a message in the role {short_word(object_field(message, 'author'), 'role')}"
    elif message is not None:
        node.problem = "a node with a message that is none"
    return node


def _read_message(record: Record, message: Mapping[str, Any], role: str, agent: str) -> OpenMessage | None:
    metadata, content = object_field(message, "metadata"), object_field(message, "content")
    parts = list(_read_content(content))
    recipient = text_field(message, "recipient") or "all"
    is_call = role == "assistant" and recipient != "all"
    tool = text_field(object_field(message, "author"), "name")
    if is_call:
        parts = [_read_call(message, recipient, parts)]
    elif role == "tool":
        parts = [_read_result(content, parts)]
    elif role == "user":
        parts += _read_attachments(metadata, parts)
    if not parts:
        return None
    is_context = metadata.get("is_user_system_message") is True or text_field(content, "content_type") in _CONTEXT
    is_hidden = metadata.get("is_visually_hidden_from_conversation") is True
    author, kind = _author_of(role, agent, injected=is_context or is_hidden)
    found = OpenMessage(key=str(record.span.offset), parent=None, author=author, kind=kind, parts=parts)
    found.add_ids(text_field(message, "id"))
    found.time = time_of_seconds(number_field(message, "create_time"))
    found.answer = CALL if is_call else None
    if kind == ANSWER:
        found.model = text_field(metadata, "model_slug")
        found.stop_reason = text_field(object_field(metadata, "finish_details"), "type")
        found.status = "interrupted" if found.stop_reason == "interrupted" else None
    if kind == RESULTS and tool is not None:
        found.tools[tool] = None
    return found


def _author_of(role: str, agent: str, *, injected: bool) -> tuple[Author, str]:
    if role == "assistant":
        return Author(agent, "agent"), ANSWER
    if role == "tool":
        return TOOL, RESULTS
    if role == "system":
        return INJECTED, "system"
    return (INJECTED, META) if injected else (HUMAN, PROMPT)


def _read_call(message: Mapping[str, Any], recipient: str, parts: list[Part]) -> Part:
    text = "\n".join(part.text for part in parts if part.type == "text")
    call_id = text_field(message, "id")
    known = {} if call_id is None else {"call_id": call_id}
    return Part("tool_call", {**known, "name": recipient, **read_arguments(text)})


def _read_result(content: Mapping[str, Any], parts: list[Part]) -> Part:
    """Convert the output of a tool: its text, or its content if there is more in it."""
    if all(part.type == "text" for part in parts):
        return Part("tool_result", {"output": "\n".join(part.text for part in parts)})
    return Part("tool_result", lossless_field("output", dict(content)))


def _read_attachments(metadata: Mapping[str, Any], parts: list[Part]) -> Iterator[Part]:
    """Convert the files of a prompt; images are also in its content."""
    paths = " ".join(str(part.fields.get("path")) for part in parts)
    listed = metadata.get("attachments")
    for each in listed if isinstance(listed, list) else []:
        if not isinstance(each, dict) or str(each.get("id")) in paths:
            continue
        media = text_field(each, "mime_type") or text_field(each, "mimeType") or "application/octet-stream"
        yield Part("file", {"media_type": media, "path": text_field(each, "name") or str(each.get("id"))})


def _read_content(content: Mapping[str, Any]) -> Iterator[Part]:
    match content:
        case {"content_type": "text" | "multimodal_text", "parts": list(listed)}:
            for each in listed:
                yield from _read_part(each)
        case {"content_type": "thoughts", "thoughts": list(thoughts)}:
            yield from _read_thoughts(thoughts)
        case {"content_type": "reasoning_recap", "content": str(text)} if text:
            yield Part("reasoning", {"text": text})
        case {"content_type": str(kind)} if kind in _CONTEXT:
            texts = [text_field(content, name) for name in _CONTEXT_TEXTS]
            yield from (Part("text", {"text": text}) for text in texts if text is not None)
        case {"content_type": "system_error", "text": str(text)}:
            yield Part("text", {"text": ": ".join(filter(None, [text_field(content, "name"), text]))})
        case {"content_type": "tether_browsing_display"}:
            shown = text_field(content, "result") or text_field(content, "summary")
            yield from [] if shown is None else [Part("text", {"text": shown})]
        case {"content_type": "code" | "execution_output" | "tether_quote", "text": str(text)}:
            yield from [Part("text", {"text": text})] if text else []
        case _ if content:
            yield Part("raw", lossless_field("json", dict(content)))


def _read_part(part: object) -> Iterator[Part]:
    match part:
        case str(text):
            yield from [Part("text", {"text": text})] if text else []
        case {"content_type": "image_asset_pointer", "asset_pointer": str(path)}:
            yield Part("image", {"path": path})
        case {"content_type": "audio_transcription", "text": str(text)}:
            yield Part("text", {"text": text})
        case {"content_type": "audio_asset_pointer", "asset_pointer": str(path)}:
            yield Part("file", {"path": path})
        case {
            "content_type": "real_time_user_audio_video_asset_pointer",
            "audio_asset_pointer": {"asset_pointer": str(path)},
        }:
            yield Part("file", {"path": path})
        case _:
            yield Part("raw", lossless_field("json", part))


def _read_thoughts(thoughts: list[Any]) -> Iterator[Part]:
    for each in thoughts:
        if isinstance(each, dict):
            texts = [text_field(each, "summary"), text_field(each, "content")]
            yield Part("reasoning", {"text": "\n\n".join(filter(None, texts))})
        else:
            yield Part("raw", lossless_field("json", each))
