"""The export of ChatGPT: `conversations.json`, an array of all conversations, each a tree of messages (`mapping`).

`current_node` is where the conversation is; edits and regenerated answers are other branches. Reasoning that the model
wrote before an answer has a node of its own, and belongs to the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from scopes.importers.formats.base import Source
from scopes.importers.formats.chatgpt.nodes import CALL, read_node
from scopes.importers.formats.events import Event, Session
from scopes.importers.formats.fields import number_field, text_field
from scopes.importers.formats.message_trees import Node, walk_tree
from scopes.importers.formats.object_lists import ObjectList, Shape, digest_of_values, rest_event, walk_sessions
from scopes.importers.formats.run_builder import ANSWER, RESULTS, time_of_seconds
from scopes.model.message import Part

NAME = "chatgpt"


class ChatGpt:
    """Exports of ChatGPT, whole or one conversation of it."""

    name = NAME
    file_suffixes = (".json",)
    standard_folders = None
    sub_agent_fields: tuple[str, ...] = ()

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


_SHAPE = Shape("mapping", _is_known)


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
