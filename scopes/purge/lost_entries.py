"""Mark messages as not covered when their memory entries are removed, so that new ones can be made from the rest."""

from __future__ import annotations

from typing import Final

from scopes.errors import Corrupt
from scopes.ids import Oid
from scopes.memory.entry import decode_entry
from scopes.memory.store import covered_change
from scopes.store.objects import EMPTY_TREE, Objects, diff_blobs, find_entry, read_blob, update_tree

_ENTRIES: Final = "entries"
_COVERED: Final = "covered"


def uncover_lost(objects: Objects, before: Oid, after: Oid) -> Oid:
    """Return the rewritten tree of a memory without the coverage of branches whose entries were removed.

    before, after: the tree before and after the entries were removed; a tree that is not a memory is returned as is
    """
    if after in {before, EMPTY_TREE} or find_entry(objects, after, _COVERED) is None:
        return after
    trees = [
        None if entry is None else entry.oid
        for entry in (find_entry(objects, each, _ENTRIES) for each in (before, after))
    ]
    gone = [old for _, old, new in diff_blobs(objects, *trees) if old is not None and new is None]
    changes = {path: None for blob in gone for path in _covered_paths(read_blob(objects, blob))}
    return update_tree(objects, after, changes) if changes else after


def _covered_paths(data: bytes) -> tuple[str, ...]:
    try:
        entry = decode_entry(data)
    except Corrupt:
        return ()
    return () if entry.uuid is None or entry.branch is None else (*covered_change(entry.uuid, entry.branch, Oid("")),)
