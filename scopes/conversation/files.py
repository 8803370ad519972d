"""`files`: which files a conversation touched, by which messages, and when last (S1-20)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scopes.clock import known_seconds
from scopes.conversation.log import walk_all_messages
from scopes.history.messages import MessageHead
from scopes.ids import AgentName, ConversationId, MessageId, Oid
from scopes.model.message import Message
from scopes.result import Result
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """One file: how often each operation was done to it, and by which messages, oldest first."""

    path: str
    operations: dict[str, int]
    messages: tuple[MessageId, ...]
    last_touch: str | None
    last_author: AgentName
    last_operation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileList(Result):
    """The files of a conversation, the last touched first, then by path."""

    conversation: ConversationId
    files: tuple[FileRow, ...]


@dataclass(slots=True)
class _Tally:
    last: MessageHead
    last_operation: str
    operations: dict[str, int] = field(default_factory=dict)
    messages: list[MessageId] = field(default_factory=list)


def files(repository: Repository, conversation: str) -> FileList:
    """Collect every file that a message of any branch read, changed or named."""
    chosen, messages = walk_all_messages(repository, conversation)
    tallies: dict[str, _Tally] = {}
    callers: dict[Oid, AgentName] = {}
    for head, message in messages:
        callers[head.oid] = _caller(head, callers)
        for path, operation in file_operations(message):
            tally = tallies.setdefault(path, _Tally(head, operation))
            tally.operations[operation] = tally.operations.get(operation, 0) + 1
            if head.time >= tally.last.time:
                tally.last, tally.last_operation = head, operation
            if not tally.messages or tally.messages[-1] != head.id:
                tally.messages.append(head.id)
    rows = [_row(path, tally, callers[tally.last.oid]) for path, tally in sorted(tallies.items())]
    rows.sort(key=lambda row: row.last_touch or "", reverse=True)
    return FileList(conversation=chosen, files=tuple(rows))


def file_operations(message: Message) -> list[tuple[str, str]]:
    """Return path and operation of every file that a message touched, in its order."""
    found = [(touch.path, touch.op) for touch in message.files]
    found += [(t.source, "delete") for t in message.files if t.op == "rename" and t.source is not None]
    for part in message.parts:
        path, operation = part.fields.get("path"), part.fields.get("op")
        if part.type == "file_ref" and isinstance(path, str):
            found.append((path, operation if isinstance(operation, str) else "mention"))
    return found


def _caller(head: MessageHead, callers: Mapping[Oid, AgentName]) -> AgentName:
    """Name who speaks in a message or, where that is a tool, the agent that called it."""
    parent = head.parents[0] if head.parents and head.author_kind == "tool" else None
    return head.author if parent is None else callers.get(parent, head.author)


def _row(path: str, tally: _Tally, author: AgentName) -> FileRow:
    return FileRow(
        path=path,
        operations=tally.operations,
        messages=tuple(tally.messages),
        last_touch=known_seconds(tally.last.time),
        last_author=author,
        last_operation=tally.last_operation,
    )
