"""Which messages of a branch were amended or retracted, and which ones a summary was made of."""

from __future__ import annotations

from scopes.history.messages import STATE_DIRECTORY
from scopes.ids import MessageId, Oid
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import find_entry, walk_blobs

_STATE = f"{STATE_DIRECTORY}/messages"


def read_amended(repository: Repository, tip: Oid) -> set[str]:
    """Return the places of the messages that were amended or retracted."""
    state = find_entry(repository, read_commit(repository, tip).tree, _STATE)
    return set() if state is None else {path for path, _ in walk_blobs(repository, state.oid, "messages/")}


def source_ids(summarizes: object) -> list[MessageId]:
    """Return the messages that a summary says it covers; none where it says nothing that we understand."""
    match summarizes:
        case {"messages": list(messages)}:
            return [MessageId(source) for source in messages if isinstance(source, str)]
    return []
