"""Memory entries without what was amended or retracted after they were made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scopes.history.names import list_branch_tips
from scopes.ids import BranchName, ConversationId, Oid
from scopes.memory.entry import MemoryEntry
from scopes.memory.source_messages import read_amended
from scopes.model.canonical_json import leaf
from scopes.store.repository import Repository


def walk_current_entries(repository: Repository, entries: Iterable[MemoryEntry]) -> Iterator[MemoryEntry]:
    """Yield entries in order, without the parts whose sources were amended or retracted on the entry's branch."""
    tips: dict[ConversationId, dict[BranchName, Oid]] = {}
    amended: dict[Oid, set[str]] = {}
    from scopes.memory.extraction import drop_sources

    for entry in entries:
        if entry.conversation is None or entry.branch is None or not entry.sources.messages:
            yield entry
            continue
        if entry.conversation not in tips:
            tips[entry.conversation] = list_branch_tips(repository, entry.conversation)
        tip = tips[entry.conversation].get(entry.branch)
        if tip is not None and tip not in amended:
            amended[tip] = read_amended(repository, tip)
        paths = amended[tip] if tip is not None else set()
        withdrawn = tuple(m for m in entry.sources.messages if paths and leaf("messages", m) in paths)
        # Few entries need the rules for sentences and topics, which take long to import.
        yield drop_sources(repository, entry, withdrawn) if withdrawn else entry
