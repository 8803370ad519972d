"""The export of ChatGPT: `conversations.json`, an array of all conversations, each a tree of messages (`mapping`).

`current_node` is where the conversation is; edits and regenerated answers are other branches. Reasoning that the model
wrote before an answer has a node of its own, and belongs to the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from scopes.importers.formats.base import Format, Source
from scopes.importers.formats.documents import ObjectList, Shape, rest_event, walk_sessions
from scopes.importers.formats.events import Event, Session
from scopes.importers.formats.fields import (
    call_id_of,
    list_field,
    number_field,
    object_field,
    read_arguments,
    short_word,
    text_field,
    time_of_seconds,
)
from scopes.importers.formats.message_trees import Node, walk_tree
from scopes.importers.formats.records import Record, digest_of_values
from scopes.importers.formats.run_builder import ANSWER, HUMAN, INJECTED, META, PROMPT, RESULTS, TOOL, OpenMessage
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
    return Part("tool_call", {**call_id_of(message, "id"), "name": recipient, **read_arguments(text)})


def _read_result(content: Mapping[str, Any], parts: list[Part]) -> Part:
    """Convert the output of a tool: its text, or its content if there is more in it."""
    if all(part.type == "text" for part in parts):
        return Part("tool_result", {"output": "\n".join(part.text for part in parts)})
    return Part("tool_result", {"output": dict(content)})


def _read_attachments(metadata: Mapping[str, Any], parts: list[Part]) -> Iterator[Part]:
    """Convert the files of a prompt; images are also in its content."""
    paths = " ".join(str(part.fields.get("path")) for part in parts)
    for each in list_field(metadata, "attachments"):
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
            yield Part("raw", {"json": dict(content)})


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
            yield Part("raw", {"json": part})


def _read_thoughts(thoughts: list[Any]) -> Iterator[Part]:
    for each in thoughts:
        if isinstance(each, dict):
            texts = [text_field(each, "summary"), text_field(each, "content")]
            yield Part("reasoning", {"text": "\n\n".join(filter(None, texts))})
        else:
            yield Part("raw", {"json": each})


NAME = "chatgpt"


class ChatGpt(Format):
    """Exports of ChatGPT, whole or one conversation of it."""

    name = NAME
    file_suffixes = (".json",)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        return b'"mapping"' in head and _SHAPE.recognizes(head)

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield a Session, its drafts and an Ending for every conversation."""
        yield from walk_sessions(source, _SHAPE, NAME, _read_session)


def _is_known(found: ObjectList) -> bool:
    """Return True for a mapping of nodes, and for an empty one of a conversation."""
    if any({"message", "parent", "children"} <= value.keys() for value in found.values()):
        return True
    return found.found and "create_time" in found.members and "title" in found.members


_SHAPE = Shape(("mapping",), _is_known)


def _read_session(found: ObjectList) -> tuple[Session, Iterator[Event]]:
    members = found.members
    own = text_field(members, "conversation_id") or text_field(members, "id")
    session = Session(
        format=NAME,
        native_id=own or digest_of_values(value.get("id") for value in found.values()),
        created=time_of_seconds(number_field(members, "create_time")),
        title=text_field(members, "title"),
    )
    nodes = [read_node(record, NAME) for record in found.records]
    _name_calls(nodes)
    _take_reasoning(nodes)
    return session, chain(rest_event(found), walk_tree(nodes, text_field(members, "current_node")))


def _name_calls(nodes: list[Node]) -> None:
    """Pair each result with the call that it follows, perhaps after other results of it."""
    calls: dict[str, tuple[str, str]] = {}  # key and id of the call that a node is or follows
    for node in nodes:
        message, name = node.message, node.name
        if message is None or name is None:
            continue
        if message.answer == CALL:
            calls[name] = message.key, name
        elif message.kind == RESULTS and node.parent in calls:
            key, call_id = calls[name] = calls[node.parent]
            message.reply_to = key
            message.parts = [_with_call(part, call_id) for part in message.parts]


def _with_call(part: Part, call_id: str) -> Part:
    fields: dict[str, Any] = {"call_id": call_id, **part.fields}
    return Part(part.type, fields) if part.type == "tool_result" else part


def _take_reasoning(nodes: list[Node]) -> None:
    """Put reasoning into the answer that follows it, if no other message does."""
    children: dict[str, list[int]] = {}
    for place, node in enumerate(nodes):
        if node.parent is not None:
            children.setdefault(node.parent, []).append(place)
    taken_by: dict[int, int] = {}
    for place, node in enumerate(nodes):
        below = children.get(node.name, []) if node.name is not None else []
        if node.message is None or len(below) != 1 or {part.type for part in node.message.parts} != {"reasoning"}:
            continue
        at = below[0]
        while at in taken_by:
            at = taken_by[at]
        answer = nodes[at].message
        if at == place or answer is None or answer.kind != ANSWER:
            continue
        answer.parts = [*node.message.parts, *answer.parts]
        answer.native_ids |= node.message.native_ids
        nodes[at].records = [*node.records, node.record, *nodes[at].records]
        node.records, node.message, node.taken = [], None, True
        taken_by[place] = at
