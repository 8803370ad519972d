"""The export of Claude.ai: `conversations.json`, an array of all conversations with their `chat_messages`.

A message may name its parent; then edits and retries are branches. Exports without parents are read in their order.
The answers of Claude.ai hold the calls of tools and their results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from scopes.importers.formats.base import Format, Source
from scopes.importers.formats.documents import ObjectList, Shape, rest_event, walk_sessions
from scopes.importers.formats.events import Event, Session
from scopes.importers.formats.fields import list_field, output_of, short_word, text_field, time_field
from scopes.importers.formats.message_trees import Node, walk_tree
from scopes.importers.formats.records import Record, digest_of_values
from scopes.importers.formats.run_builder import ANSWER, HUMAN, PROMPT, OpenMessage
from scopes.model.message import Author, Part

NAME = "claude-ai"
_AGENT = Author(NAME, "agent")
_SENDERS = {"human": (HUMAN, PROMPT), "assistant": (_AGENT, ANSWER)}
_SILENT = frozenset({"token_budget", "flag"})  # blocks that nobody sees
_NO_PARENT = "00000000-0000-4000-8000-000000000000"  # of the first message


class ClaudeAi(Format):
    """Exports of Claude.ai."""

    name = NAME
    file_suffixes = (".json",)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        return b'"chat_messages"' in head and _SHAPE.recognizes(head)

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield a Session, its drafts and an Ending for every conversation."""
        yield from walk_sessions(source, _SHAPE, NAME, _read_session)


def _is_known(found: ObjectList) -> bool:
    if any(value.get("sender") in ("human", "assistant") and "uuid" in value for value in found.values()):
        return True
    return found.found and text_field(found.members, "uuid") is not None and "created_at" in found.members


_SHAPE = Shape(("chat_messages",), _is_known)


def _read_session(found: ObjectList) -> tuple[Session, Iterator[Event]]:
    members = found.members
    own = text_field(members, "uuid")
    session = Session(
        format=NAME,
        native_id=own or digest_of_values(value.get("uuid") for value in found.values()),
        created=time_field(members, "created_at"),
        title=text_field(members, "name"),
    )
    nodes = [_read_node(record, text_field(members, "model")) for record in found.records]
    if not any("parent_message_uuid" in value for value in found.values()):
        _link_in_order(nodes)
    last = next((node.name for node in reversed(nodes) if node.message is not None), None)
    return session, chain(rest_event(found), walk_tree(nodes, text_field(members, "current_leaf_message_uuid") or last))


def _link_in_order(nodes: list[Node]) -> None:
    """Make each message the parent of the next one; the place in the list stands in for the ids."""
    for place, node in enumerate(nodes):
        node.name, node.parent = str(place), str(place - 1)


def _read_node(record: Record, model: str | None) -> Node:
    value = record.value if isinstance(record.value, dict) else {}
    parent = text_field(value, "parent_message_uuid")
    node = Node(record, text_field(value, "uuid"), None if parent == _NO_PARENT else parent)
    sender = text_field(value, "sender")
    if record.problem is not None or sender not in _SENDERS:
        node.problem = f"a message of the sender {short_word(value, 'sender')}"
        return node
    node.state = f"empty/{sender}"
    parts = [*_read_blocks(value), *_read_files(value)]
    if parts:
        author, kind = _SENDERS[sender]
        found = OpenMessage(key=str(record.span.offset), parent=None, author=author, kind=kind, parts=parts)
        found.add_ids(node.name)
        found.time = time_field(value, "created_at")
        if kind == ANSWER:
            found.model = text_field(value, "model") or model
            found.stop_reason = text_field(value, "stop_reason")
            found.status = "truncated" if value.get("truncated") is True else None
        node.message = found
    return node


def _read_blocks(value: Mapping[str, Any]) -> Iterator[Part]:
    """Convert the blocks of a message; an old export has only its text."""
    blocks = list_field(value, "content")
    if not blocks:
        text = text_field(value, "text")
        yield from [] if text is None else [Part("text", {"text": text})]
        return
    for number, block in enumerate(blocks):
        match block:
            case {"type": "text", "text": str(text)}:
                yield from [Part("text", {"text": text})] if text else []
            case {"type": "thinking", "thinking": str(text)}:
                yield from [Part("reasoning", {"text": text})] if text else []
            case {"type": "tool_use", "name": str(name)}:
                known = _call_id(value, block, "id", number)
                yield Part("tool_call", {**known, "name": name, "input": block.get("input")})
            case {"type": "tool_result"}:
                yield _read_result(block, _call_id(value, block, "tool_use_id", number - 1))
            case {"type": "voice_note", "text": str(text)}:
                yield Part("text", {"text": text})
            case {"type": str(kind)} if kind in _SILENT:
                continue
            case _:
                yield Part("raw", {"json": block})


def _call_id(value: Mapping[str, Any], block: Mapping[str, Any], name: str, place: int) -> dict[str, Any]:
    """Return the id of a call; an export without one has the result right after the call."""
    found = text_field(block, name)
    return {"call_id": found if found is not None else f"{text_field(value, 'uuid')}-{place}"}


def _read_result(block: Mapping[str, Any], known: dict[str, Any]) -> Part:
    fields = {**known, "output": output_of(block.get("content"))}
    return Part("tool_result", fields | ({"is_error": True} if block.get("is_error") is True else {}))


def _read_files(value: Mapping[str, Any]) -> Iterator[Part]:
    """Convert attachments, with the text that was read from them, and uploaded files."""
    for name in ("attachments", "files"):
        for each in list_field(value, name):
            path = text_field(each, "file_name") if isinstance(each, dict) else None
            if path is None:
                yield Part("raw", {"json": each})
                continue
            media = text_field(each, "file_type") or "application/octet-stream"
            text = text_field(each, "extracted_content")
            yield Part("file", {"media_type": media, "path": path, **({} if text is None else {"text": text})})
