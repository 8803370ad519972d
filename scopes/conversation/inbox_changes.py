"""The changes of inboxes by messages of a conversation, for the change log: derived from the operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from scopes.errors import Corrupt, NotFound
from scopes.history.messages import header_of
from scopes.history.shared_refs import (
    AGENT_FILES,
    INBOX_FILES,
    ConversationFilter,
    read_json,
    tree_of,
    walk_path_changes,
)
from scopes.ids import Oid, is_oid
from scopes.model.operation import Operation, RefChange
from scopes.store.refs import AGENTS
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import find_entry


class InboxChange(NamedTuple):
    """A message that came into an inbox, was delivered to an agent that had been away, or was taken out.

    field_path: `inbox.<agent>`
    author: kind and name of the author of a message that was sent; None if somebody else made the change
    """

    field_path: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    author: tuple[str, str] | None


def walk_inbox_changes(
    repository: Repository, record: Operation, conversation: ConversationFilter
) -> Iterator[InboxChange]:
    """Yield what an operation changed in the inboxes for messages of a conversation, by agent and order of sending."""
    for change in record.changes:
        if change.ref != AGENTS:
            continue
        for each in sorted(walk_path_changes(repository, change)):
            if not each.path.startswith(INBOX_FILES):
                continue
            before, after = (read_json(repository, blob) for blob in (each.before, each.after))
            if conversation.has_entry(after or before):
                number = each.path.split("/")[1]
                author = _find_author(repository, after) if after and not before else None
                yield InboxChange(
                    f"inbox.{_name_of(repository, change, number)}", _shown(before), _shown(after), author
                )


def _shown(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what an entry says; None if there is none."""
    if not entry:
        return None
    return {"message": entry.get("message"), "status": "waiting" if entry.get("queued") is True else "delivered"}


def _name_of(repository: Repository, change: RefChange, number: str) -> str:
    """Return the name of an agent after the operation, or before it if that removed the agent."""
    for commit in (change.new, change.old):
        tree = tree_of(repository, commit)
        entry = None if tree is None else find_entry(repository, tree, f"{AGENT_FILES}{number}.json")
        name = None if entry is None else read_json(repository, entry.oid).get("name")
        if isinstance(name, str):
            return name
    return number.lstrip("0")


def _find_author(repository: Repository, entry: Mapping[str, Any]) -> tuple[str, str] | None:
    oid = entry.get("oid")
    if isinstance(oid, str) and is_oid(oid):
        with suppress(NotFound, Corrupt):
            head = header_of(read_commit(repository, Oid(oid)))
            return head.author_kind, head.author
    return None
