"""The rows of the registry in the change log: registered agents, their inboxes, and allowed secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from scopes.conversation.change import FieldChange, cause_of
from scopes.errors import Corrupt, NotFound
from scopes.history.messages import header_of
from scopes.history.shared_refs import (
    AGENT_FILES,
    ALLOWED_FILES,
    INBOX_FILES,
    ConversationFilter,
    read_json,
    tree_of,
    walk_changes_below,
)
from scopes.ids import Oid, is_oid
from scopes.model.operation import Operation, RefChange
from scopes.store.refs import AGENTS, SECRETS
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import find_entry

_NOT_SHOWN: Final = frozenset({"v", "registered", "updated"})  # of an agent: the version and times of its document
_NAME: Final = "name"


class RegistryFile(NamedTuple):
    """A file of the registry that an operation changed, with its document before and after; empty for no file."""

    move: RefChange
    path: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    @property
    def number(self) -> str:
        """The number of the agent, as the registry writes it."""
        return self.path.split("/")[1].removesuffix(".json")


def list_registry_files(repository: Repository, record: Operation, *directories: str) -> Sequence[RegistryFile]:
    """Return the files in directories of the registry that an operation changed, by agent and order of sending."""
    return [
        RegistryFile(move, directory + path, read_json(repository, before), read_json(repository, after))
        for move in record.changes
        for directory in (directories if move.ref == AGENTS else ())
        for path, before, after in walk_changes_below(repository, move, directory)
    ]


def walk_agent_changes(files: Sequence[RegistryFile]) -> Iterator[FieldChange]:
    """Yield the agents that were registered or removed, `agents.NAME`, and fields that changed, `agents.NAME.FIELD`."""
    for file in files:
        if not file.path.startswith(AGENT_FILES) or file.before == file.after:
            continue
        before, after = _shown_agent(file.before), _shown_agent(file.after)
        name = (before or after or {}).get(_NAME, file.number.lstrip("0"))
        if before is None or after is None:
            yield FieldChange(f"agents.{name}", before, after)
            continue
        for field in sorted(before.keys() | after.keys()):
            if before.get(field) != after.get(field):
                yield FieldChange(f"agents.{name}.{field}", before.get(field), after.get(field), "UPDATE")


def walk_allowed_changes(repository: Repository, record: Operation) -> Iterator[FieldChange]:
    """Yield what an operation changed in the allow-list of secrets: `allowed_secrets.ID`."""
    for move in record.changes:
        for path, *blobs in walk_changes_below(repository, move, ALLOWED_FILES) if move.ref == SECRETS else ():
            before, after = (None if blob is None else _shown_allowed(read_json(repository, blob)) for blob in blobs)
            yield FieldChange(f"allowed_secrets.{path.removesuffix('.json')}", before, after)


def walk_inbox_changes(
    repository: Repository, files: Sequence[RegistryFile], conversation: ConversationFilter
) -> Iterator[FieldChange]:
    """Yield what an operation changed in the inboxes for messages of a conversation: `inbox.NAME`.

    The cause of a new entry is the author of the message that was sent.
    """
    for file in files:
        if file.path.startswith(INBOX_FILES) and conversation.has_entry(file.after or file.before):
            path = f"inbox.{_name_of(repository, file)}"
            if file.before:
                yield FieldChange(path, _shown_entry(file.before), _shown_entry(file.after))
            else:
                yield FieldChange(path, None, _shown_entry(file.after), "APPEND", _find_author(repository, file.after))


def _shown_agent(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what is known about an agent; None if there is none."""
    return {name: value for name, value in document.items() if name not in _NOT_SHOWN} or None


def _shown_allowed(document: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: document[name] for name in ("rule", "reason") if name in document}


def _shown_entry(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what an entry says; None if there is none."""
    if not entry:
        return None
    return {"message": entry.get("message"), "status": "waiting" if entry.get("queued") is True else "delivered"}


def _name_of(repository: Repository, file: RegistryFile) -> str:
    """Return the name of an agent after the operation, or before it if that removed the agent."""
    for commit in (file.move.new, file.move.old):
        tree = tree_of(repository, commit)
        entry = None if tree is None else find_entry(repository, tree, f"{AGENT_FILES}{file.number}.json")
        name = None if entry is None else read_json(repository, entry.oid).get(_NAME)
        if isinstance(name, str):
            return name
    return file.number.lstrip("0")


def _find_author(repository: Repository, entry: Mapping[str, Any]) -> str | None:
    oid = entry.get("oid")
    if isinstance(oid, str) and is_oid(oid):
        with suppress(NotFound, Corrupt):
            head = header_of(read_commit(repository, Oid(oid)))
            return cause_of(head.author_kind, head.author)
    return None
