"""Answer questions about refs from one listing: each other look reads three files, and an import takes thousands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from scopes.store.listed_refs import ListedRefs
from scopes.store.repository import Repository


@contextmanager
def refs_listed_once(repository: Repository) -> Iterator[None]:
    """Let `find_ref` and `list_refs` answer from one listing, made now, until the end of the block.

    Move no refs in the block. What the block finds may be out of date unless it holds the lock of the store; an
    operation compares the old values again when it is committed. If a ref is damaged, all of them are read one by one,
    so that whoever needs that one reports it.
    """
    if repository.listed is None:
        files, values = repository.read_refs("refs/")
        if not files.list_damaged(("refs/",)):
            repository.listed = ListedRefs(values, is_past=False)
    try:
        yield
    finally:
        if repository.listed is not None and not repository.listed.is_past:
            repository.listed = None
