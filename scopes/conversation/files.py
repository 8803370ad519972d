"""`files`: list the files a conversation read or changed, with the messages that did and the last access (S1-20)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial

from scopes.clock import known_seconds
from scopes.history.conversations import resolve_scope, walk_messages
from scopes.history.messages import MessageHeader, read_root
from scopes.history.metadata import read_metadata
from scopes.history.titles import Heading, read_heading
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid
from scopes.model.message import file_operations
from scopes.model.path_encoding import file_leaf
from scopes.result import Result
from scopes.store.repository import Repository, read_commit


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """One file: the number of uses per operation, and the ids of the messages that used it, oldest first."""

    path: str
    operations: dict[str, int]
    messages: tuple[MessageId, ...]
    last_touch: str | None
    last_author: AgentName
    last_operation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileList(Result):
    """The files of a conversation, most recently used first, then by path.

    `branch` is the only branch that counts, None for all `branches`. `cwd` is the directory of the conversation.
    """

    conversation: ConversationId
    files: tuple[FileRow, ...]
    branch: BranchName | None = None
    branches: tuple[BranchName, ...] = ()
    cwd: str | None = None
    heading: Heading | None = None


@dataclass(slots=True)
class _FileUses:
    path: str
    last: MessageHeader
    last_operation: str
    operations: dict[str, int] = field(default_factory=dict)
    messages: list[MessageId] = field(default_factory=list)


def files(repository: Repository, where: str) -> FileList:
    """Collect every file that a message of a conversation, or of `CONV/BRANCH`, read, changed or mentioned.

    Raises:
        NotFound, Ambiguous: the conversation or the branch cannot be resolved.
    """
    scope = resolve_scope(repository, where)
    cwd = read_root(repository, read_commit(repository, next(iter(scope.tips.values()))), None).cwd
    cwd = cwd or read_metadata(repository, scope.conversation).directory
    uses_by_key: dict[str, _FileUses] = {}
    key_of = lru_cache(maxsize=None)(partial(file_leaf, base=cwd))
    callers: dict[Oid, AgentName] = {}
    for head, message in walk_messages(repository, scope):
        callers[head.oid] = _caller(head, callers)
        for path, operation in file_operations(message):
            uses = uses_by_key.setdefault(key_of(path), _FileUses(path, head, operation))
            if path.endswith(f"/{uses.path}"):
                uses.path = path  # the absolute one
            uses.operations[operation] = uses.operations.get(operation, 0) + 1
            if head.time >= uses.last.time:
                uses.last, uses.last_operation = head, operation
            if not uses.messages or uses.messages[-1] != head.id:
                uses.messages.append(head.id)
    rows = [_row(uses, callers[uses.last.oid]) for uses in sorted(uses_by_key.values(), key=lambda uses: uses.path)]
    rows.sort(key=lambda row: row.last_touch or "", reverse=True)
    return FileList(
        conversation=scope.conversation,
        files=tuple(rows),
        branch=scope.branch,
        branches=tuple(scope.tips),
        cwd=cwd,
        heading=read_heading(repository, scope.conversation),
    )


def _caller(head: MessageHeader, callers: Mapping[Oid, AgentName]) -> AgentName:
    """Return the author of a message or, if the author is a tool, the agent that called it."""
    parent = head.parents[0] if head.parents and head.author_kind == "tool" else None
    return head.author if parent is None else callers.get(parent, head.author)


def _row(uses: _FileUses, author: AgentName) -> FileRow:
    return FileRow(
        path=uses.path,
        operations=uses.operations,
        messages=tuple(uses.messages),
        last_touch=known_seconds(uses.last.time),
        last_author=author,
        last_operation=uses.last_operation,
    )
