"""Notes about stored files that are removed with a conversation although they also have others, such as an export."""

from __future__ import annotations

from typing import Final

from scopes.history.names import conversation_ids, find_root_commit
from scopes.history.sources import SOURCES, read_source_record
from scopes.ids import Oid
from scopes.purge.rewrite_store import RewrittenStore
from scopes.result import Note
from scopes.store.repository import Repository

_FEW: Final = 5


def note_lost_files(repository: Repository, done: RewrittenStore) -> tuple[Note, ...]:
    """Return a note about kept conversations that lose their stored file; call it before the refs move."""
    roots: set[Oid] = set()
    for change in done.changes:
        if change.ref.startswith(SOURCES) and change.old is not None and change.new is None:
            record = read_source_record(repository, Oid(change.old))
            roots |= {record.root, *record.more_roots} - done.histories.roots
    if not roots:
        return ()
    found = [each for each in conversation_ids(repository) if find_root_commit(repository, each) in roots]
    if not found:
        return ()
    names = ", ".join(found[:_FEW]) + (f" and {len(found) - _FEW:,} more" if len(found) > _FEW else "")
    hint = "import the file again: what was purged stays out of it"
    return (Note(f"the stored file of {names} goes, too: it has all of them", hint),)
