"""A message of one author, with its parts. One message is one commit.

None and empty mean unknown. Unknown fields and parts of a newer version are kept, in `extra` or in the fields of the
part, and written back unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from scopes.ids import MessageId

FORMAT_VERSION = 1

MessageKind: TypeAlias = Literal[
    "root", "prompt", "answer", "tool-results", "plain", "system", "proposal", "analysis", "collaboration-request",
    "decision", "priority", "method", "merge", "summary", "compaction", "notice", "error", "interrupt", "meta",
]  # fmt: skip
KINDS: tuple[MessageKind, ...] = get_args(MessageKind)
TYPED_KINDS = frozenset({"proposal", "analysis", "collaboration-request", "decision", "priority", "method"})
EXAMPLES = {
    "proposal": '{"entity_type": "file", "entity_id": "app.py", "changes": [{"field_path": "port", "after": 80}]}',
    "analysis": '{"subject": "login", "finding": "the token never expires"}',
    "collaboration-request": '{"type": "verification", "context": "check the login form"}',
    "decision": '{"topic": "db", "decision": "SQLite"}',
    "priority": '{"task": "login", "urgency": "high"}',
    "method": '{"goal": "speed", "approach": "cache the result"}',
}  # kind -> its document
AUTHOR_KINDS = ("human", "agent", "tool", "system", "injected")
FILE_OPERATIONS = ("read", "create", "edit", "delete", "rename", "mention")
FILE_WRITES = frozenset({"create", "edit", "delete", "rename"})
URGENCIES = ("low", "normal", "high", "critical")  # of a priority, lowest first
ACTIVITIES = ("agent_action", "file_edit", "decision", "blocker_resolved")
FOREIGN_FIELDS = frozenset({"input", "output", "structured", "json"})  # fields of parts that keep their key order
COPIED = "restamped"  # precision of the time of a message that another session was copied from: the time of the copy
HANDOVER = "handover"  # further field of a prompt: the blocks of scopes that came before it, and the last message there
PART_TYPES = ("text", "reasoning", "tool_call", "tool_result", "image", "file", "file_ref", "raw")


class Author(NamedTuple):
    """The author of a message; `kind` is one of AUTHOR_KINDS or of a newer version."""

    name: str
    kind: str = "agent"


class Part(NamedTuple):
    """One part of the content of a message; `fields` are all its fields except the type.

    text         text
    reasoning    text, opaque (a provider's signature)
    tool_call    call_id, name, input | input_text
    tool_result  call_id, output | output_text, is_error, exit_code
    image, file  media_type, path or data (base64)
    file_ref     path, op, content_hash, patch
    raw          a record of a newer or foreign format
    """

    type: str
    fields: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The text of the part; empty if it has none."""
        text = self.fields.get("text")
        return text if isinstance(text, str) else ""

    @property
    def call_id(self) -> str | None:
        """The id of a call, in it and in its result; None without one, or for one that is no text."""
        call_id = self.fields.get("call_id")
        return call_id if isinstance(call_id, str) else None


class FileTouch(NamedTuple):
    """One file that a message read or changed; `content_hash` is `<algorithm>:<hex>` of the new content, if known."""

    path: str
    op: str
    content_hash: str | None = None
    source: str | None = None  # the old path of a rename


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message as it is stored. It does not contain its conversation and branch."""

    id: MessageId
    author: Author
    parts: tuple[Part, ...]
    kind: str = "plain"
    time: str | None = None  # RFC 3339 with time zone, unchanged from the source
    to: tuple[str, ...] = ()
    reply_to: str | None = None
    files: tuple[FileTouch, ...] = ()
    payload: Mapping[str, Any] | None = None  # of a typed kind: the document in the field named like the kind
    amends: str | None = None
    retracts: str | None = None
    work_item: str | None = None
    task: str | None = None
    activity: str | None = None
    tool: str | None = None
    model: str | None = None
    status: str | None = None
    stop_reason: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text of all text parts, joined by newlines."""
        return "\n".join(part.text for part in self.parts if part.type == "text")


def text_parts(text: str) -> tuple[Part, ...]:
    """Return the parts of a plain text message."""
    return (Part("text", {"text": text}),)


def file_operations(message: Message) -> list[tuple[str, str]]:
    """Return (path, operation) of every file that a message read, changed or mentioned; a rename deletes its source."""
    operations = [(touch.path, touch.op) for touch in message.files]
    operations += [(t.source, "delete") for t in message.files if t.op == "rename" and t.source is not None]
    for part in message.parts:
        path, operation = part.fields.get("path"), part.fields.get("op")
        if part.type == "file_ref" and isinstance(path, str):
            operations.append((path, operation if isinstance(operation, str) else "mention"))
    return operations


def payload_key(kind: str) -> str:
    """Return the field of the document of a typed kind, for example `collaboration_request`."""
    return kind.replace("-", "_")
