"""A message: what one author said, called, or reported, at one moment. One message is one commit.

Only what is known is present: None and empty mean unknown, and an unknown field or part of a newer version stays in
`extra` or in the part's fields and is written back as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scopes.ids import MessageId

FORMAT_VERSION = 1

KINDS = (
    "root", "prompt", "answer", "tool-results", "plain", "system", "proposal", "analysis", "collaboration-request",
    "decision", "priority", "method", "merge", "summary", "compaction", "notice", "error", "interrupt", "meta",
)  # fmt: skip
TYPED_KINDS = frozenset({"proposal", "analysis", "collaboration-request", "decision", "priority", "method"})
AUTHOR_KINDS = ("human", "agent", "tool", "system", "injected")
FILE_OPERATIONS = ("read", "create", "edit", "delete", "rename", "mention")
FILE_WRITES = frozenset({"create", "edit", "delete", "rename"})
ACTIVITIES = ("agent_action", "file_edit", "decision", "blocker_resolved")
FOREIGN_FIELDS = frozenset({"input", "output", "structured", "json"})  # of parts: keep the key order they came with
PART_TYPES = ("text", "reasoning", "tool_call", "tool_result", "image", "file", "file_ref", "raw")


class Author(NamedTuple):
    """Who speaks; `kind` is one of AUTHOR_KINDS or a newer one."""

    name: str
    kind: str = "agent"


class Part(NamedTuple):
    """One piece of a message's content; `fields` holds everything of it but the type.

    text         text
    reasoning    text, opaque (a provider's signature)
    tool_call    call_id, name, input | input_text
    tool_result  call_id, output | output_text, is_error, exit_code
    image, file  media_type, path or data (base64)
    file_ref     path, op, content_hash, patch
    raw          whatever a newer or foreign format had
    """

    type: str
    fields: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The part's text, or nothing."""
        text = self.fields.get("text")
        return text if isinstance(text, str) else ""


class FileTouch(NamedTuple):
    """One file that the message read or changed; `content_hash` is `<algorithm>:<hex>` of the outcome, where known."""

    path: str
    op: str
    content_hash: str | None = None
    source: str | None = None  # the former path of a rename


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message as it is stored; conversation and branch are where it is shown, not what it is."""

    id: MessageId
    author: Author
    parts: tuple[Part, ...]
    kind: str = "plain"
    time: str | None = None  # RFC 3339, exact and with its zone, as the author's clock gave it
    to: tuple[str, ...] = ()
    reply_to: str | None = None
    files: tuple[FileTouch, ...] = ()
    payload: Mapping[str, Any] | None = None  # of a typed kind: the document under the kind's own name
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
        """All text of the message, one part after the other."""
        return "\n".join(part.text for part in self.parts if part.type == "text")


def text_parts(text: str) -> tuple[Part, ...]:
    """Make the parts of a message that is one plain text."""
    return (Part("text", {"text": text}),)


def payload_key(kind: str) -> str:
    """Name the field that holds a typed kind's document: `collaboration-request` stands as `collaboration_request`."""
    return kind.replace("-", "_")
