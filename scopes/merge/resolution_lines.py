"""Write the resolution of a conflict as one line: `resolved decision db: took source (SQLite), by lead: cheaper`.

A resolution is a notice that records how a conflict was resolved; the conflict's values are in the state of its commit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from scopes.history.messages import MessageHeader
from scopes.ids import Oid
from scopes.merge.conflict_keys import decoded_key, group_of, noun_of
from scopes.merge.records import list_conflicts_at
from scopes.model.claims import FILES
from scopes.model.conflicts import Conflict, Resolution, decode_resolution
from scopes.model.message import Message
from scopes.store.repository import Repository

_SUBJECT = "Resolved "  # how the text of a resolution begins


def may_be_resolution(head: MessageHeader) -> bool:
    """Return False if the commit alone shows that the message does not resolve a conflict."""
    return head.kind == "notice" and head.author_kind != "system" and head.subject.startswith(_SUBJECT)


def resolution_line(repository: Repository, head: MessageHeader, message: Message) -> str:
    """Return how a message resolved a conflict, as one line; empty if it did not.

    Raises:
        Corrupt, NotFound: the state of the message is damaged or missing.
    """
    document = message.extra.get("conflict")
    if not may_be_resolution(head) or not isinstance(document, dict) or document.get("status") != "resolved":
        return ""
    line = describe_resolution(repository, head.oid, document)
    return f"resolved {line}" if line else ""


def describe_resolution(repository: Repository, oid: Oid, document: Mapping[str, Any]) -> str:
    """Return how a conflict with a record in the state of a commit was resolved: `decision db: took source, by lead`.

    `document` is what the message of the resolution, or of the merge, stores about it; empty if that is not valid.

    Raises:
        Corrupt, NotFound: the state of the commit is damaged or missing.
    """
    key, resolution = document.get("key"), decode_resolution(document)
    if not isinstance(key, str) or resolution is None:
        return ""
    record = list_conflicts_at(repository, oid).get(str(document.get("id")))
    because = f": {resolution.reason}" if resolution.reason else ""
    if group_of(key) == FILES and resolution.choice == "both":
        return f"{_name(key)}: both sides edited it, and it was not merged here"
    return " ".join(f"{_name(key)}: {_outcome(resolution, record)}, by {resolution.actor}{because}".split())


def resolved_values(repository: Repository, oid: Oid, document: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the values that the resolution of a conflict chose; empty if the document is not valid.

    Raises:
        Corrupt, NotFound: the state of the commit is damaged or missing.
    """
    resolution = decode_resolution(document)
    if resolution is None:
        return ()
    if resolution.choice == "value":
        return (resolution.value,)
    return _chosen_values(resolution, list_conflicts_at(repository, oid).get(str(document.get("id"))))


def _name(key: str) -> str:
    """Return a key as a phrase: `decision db`."""
    group, _, name = decoded_key(key).partition("/")
    return f"{noun_of(group_of(key)) or group} {name}".strip()


def _outcome(resolution: Resolution, record: Conflict | None) -> str:
    if resolution.choice == "value":
        return _value_text(resolution.value)
    values = " | ".join(dict.fromkeys(map(_value_text, _chosen_values(resolution, record))))
    return f"took {resolution.choice}" + (f" ({values})" if values else "")


def _chosen_values(resolution: Resolution, record: Conflict | None) -> tuple[Any, ...]:
    sides = {"source": ("source",), "target": ("target",), "base": ("base",), "both": ("source", "target")}
    return tuple(each.value for side in sides.get(resolution.choice, ()) for each in getattr(record, side, ()))


def _value_text(value: Any) -> str:
    match value:
        case {"operation": str(operation)}:  # of a file: what is recorded of its text is no text for people
            return operation
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
