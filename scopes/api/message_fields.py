"""The optional fields of a message that a program appends, and the message made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from scopes.clock import new_id, now
from scopes.errors import Invalid, Refused
from scopes.model.message import TYPED_KINDS, Author, Message, MessageKind, payload_key

_PAYLOADS = frozenset(map(payload_key, TYPED_KINDS))


class MessageFields(TypedDict, total=False):
    """The optional fields of a message; they mean what they mean in a line of `append --jsonl`.

    `decision` and the fields after it are the documents of messages of that kind: `kind="decision", decision={...}`.
    """

    parts: Sequence[Mapping[str, Any]]
    to: str | Sequence[str]
    reply_to: str
    time: str
    work_item: str
    task: str
    activity: str
    tool: str
    model: str
    status: str
    stop_reason: str
    files: Sequence[Mapping[str, Any]]
    decision: Mapping[str, Any]
    proposal: Mapping[str, Any]
    analysis: Mapping[str, Any]
    collaboration_request: Mapping[str, Any]
    priority: Mapping[str, Any]
    method: Mapping[str, Any]


def make_message(text: str, author: Author, kind: MessageKind, fields: MessageFields) -> Message:
    """Return a message with a new id and the current time."""
    from scopes.model.validation import check_message

    unknown = fields.keys() - MessageFields.__annotations__.keys()
    if unknown:
        raise TypeError(f"a message has no field {min(unknown)!r}")
    foreign = (fields.keys() & _PAYLOADS) - {payload_key(kind)}
    if foreign:
        raise Invalid(f"a message of kind {kind} has no field {min(foreign)!r}")
    if not text.strip() and not fields.get("parts") and payload_key(kind) not in fields:
        raise Refused("the message is empty", hint="give a text, or parts")
    document = {**fields, "author": {"name": author.name, "kind": author.kind}, "text": text, "kind": kind}
    return check_message(document, message_id=new_id(), now=now())
