"""Which operations are a conversation's own: followed back through other ids, the trash, and other lives of its id.

An id may be used again after a deletion and may be taken over by renaming; the metadata's commits belong to one
conversation only, so they are the thread to follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scopes.ids import ConversationId
from scopes.model.operation import Operation
from scopes.store import refs as names
from scopes.store.operation_log import walk_operations
from scopes.store.repository import Repository


class OwnOperation(NamedTuple):
    """An operation with the id that it left the conversation with, and the `former` one where it changed that."""

    record: Operation
    conversation: ConversationId
    former: ConversationId | None = None


def walk_own_operations(repository: Repository, conversation: ConversationId) -> Iterator[OwnOperation]:
    """Yield the operations of a conversation, newest first, back to the one that made it.

    Raises:
        Corrupt, NotFound: a record of the log is damaged or missing.
    """
    name, meta = conversation, repository.find_ref(names.meta_ref(conversation))
    gone = False  # at that time it was in the trash, or undone
    for _, record in walk_operations(repository):
        moved = next((change for change in record.changes if change.ref == names.meta_ref(name)), None)
        if gone:
            gone = moved is None or (moved.old, moved.new) != (meta, None)
            if not gone:
                yield OwnOperation(record, name)
        elif moved is None:
            if any(_belongs(change.ref, name) for change in record.changes):
                yield OwnOperation(record, name)
        elif moved.new is None:
            return  # the end of another life of the id
        elif moved.old is not None:
            meta = moved.old
            yield OwnOperation(record, name)
        else:
            source = next((c.ref for c in record.changes if c.old == moved.new and c.new is None), "")
            former = ConversationId(source.removeprefix(names.META)) if source.startswith(names.META) else None
            yield OwnOperation(record, name, former)
            if former is not None:
                name = former
            elif source or record.undoes is not None:
                gone = True
            else:
                meta = None


def _belongs(ref: str, conversation: ConversationId) -> bool:
    return ref.startswith(f"{names.HEADS}{conversation}/") or ref == names.active_ref(conversation)
