"""The messages that scopes itself writes into a history: the merge, and the notice that begins a resolution.

Their ids, times and bytes follow from the tips alone, so that the same merge is the same commit on every machine; who
did it and when is in the operation.
"""

from __future__ import annotations

from base64 import b32encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from scopes.clock import format_seconds
from scopes.history.messages import write_commit_over, write_message_blob
from scopes.ids import ID_LENGTH, MessageId, Oid
from scopes.model import canonical
from scopes.model.conflict import Conflict, resolution_document
from scopes.model.message import Author, Message, text_parts
from scopes.store.repository import Objects, read_commit

SCOPES = Author("scopes", "system")
DETECTED = "Conflict detected, creating resolution branch"


def derived_id(*said: Any) -> MessageId:
    """Hash the inputs of a message into its id."""
    return MessageId(b32encode(sha256(canonical.dump(list(said))).digest()).decode("ascii").lower()[:ID_LENGTH])


def write_merge_commit(  # noqa: PLR0917 - what a merge is made of
    objects: Objects,
    parents: Sequence[Oid],
    state: Oid | None,
    merged: Iterable[MessageId],
    conflicts: Iterable[Conflict],
    text: str,
) -> tuple[MessageId, Oid]:
    """Write a merge: which messages it brings together, and what became of the conflicts that did not stop it."""
    resolved = [
        {"id": conflict.id, "type": conflict.type, "key": conflict.key, **resolution_document(conflict.resolution)}
        for conflict in conflicts
        if conflict.resolution is not None
    ]
    identity = derived_id("merge", sorted(parents), sorted(canonical.dump(each).decode() for each in resolved), text)
    document: dict[str, Any] = {"messages": list(merged)}
    if resolved:
        document["resolved"] = resolved
    return _write(objects, parents, state, identity, "merge", text, {"merge": document})


def write_notice(objects: Objects, parent: Oid, beside: Oid, state: Oid | None) -> tuple[MessageId, Oid]:
    """Write the notice that a resolution begins with, on top of the target (S4-17); `beside` is the source's tip."""
    identity = derived_id("conflict", parent, beside)
    return _write(objects, (parent,), state, identity, "system", DETECTED, {}, beside)


def _write(  # noqa: PLR0917
    objects: Objects,
    parents: Sequence[Oid],
    state: Oid | None,
    identity: MessageId,
    kind: str,
    text: str,
    extra: Mapping[str, Any],
    *beside: Oid,
) -> tuple[MessageId, Oid]:
    seconds = max(read_commit(objects, oid).time for oid in (*parents, *beside))
    message = Message(
        id=identity, author=SCOPES, parts=text_parts(text), kind=kind, time=format_seconds(seconds), extra=extra
    )
    blob = write_message_blob(objects, message)
    return identity, write_commit_over(objects, parents, message, blob, state, time=seconds)
