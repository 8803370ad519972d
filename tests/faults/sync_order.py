"""P1 without a power cut: the order of syncs in the shim's log of calls."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from tests.faults.injection import Call

MAKES = {"open", "write", "pwrite", "pwrite64", "ftruncate", "ftruncate64"}
SYNCS = {"fsync", "fdatasync"}
PLACES = {"rename", "renameat", "link", "linkat"}
REMOVES = {"unlink", "unlinkat"}
NEVER_HALF = ("objects/", "refs/", "packed-refs")  # put in place only once their bytes are on the disk
EXPENDABLE = (
    *("info/refs", "objects/info/packs", "gc.pid", "scopes.lock", "scopes.turnstile"),  # made anew, or nothing in them
    *("description", "hooks", "info"),  # libgit2 makes them, and nobody reads them
    "scopes-git-",  # the directory that git runs in, but for the links in it
)


_OF_GIT = re.compile(r"^scopes-git-[^/]+/(?=objects|refs|logs|packed-refs)")


def find_unsynced(calls: Iterable[Call], store: str, expendable: tuple[str, ...] = EXPENDABLE) -> Iterator[str]:
    """Yield what a power cut could lose: files renamed unsynced, refs moved before their objects are synced."""
    files: set[str] = set()
    entries: set[str] = set()
    for call in calls:
        path, target = (_below(name, store) for name in (call.path, call.target))
        if call.name in MAKES:
            files.add(path)
        elif call.name in SYNCS:
            files.discard(path)
            entries.discard(path)
        elif call.name in REMOVES:
            files.discard(path)
        elif call.name in PLACES and not target.startswith(expendable):
            yield from _place(path, target, files, entries, expendable)
    for path in sorted(files | entries):
        if not path.startswith(expendable):
            yield f"{path or 'the store itself'} is not synced at the end"


def _place(path: str, target: str, files: set[str], entries: set[str], expendable: tuple[str, ...]) -> Iterator[str]:
    """Apply a rename or link, and yield the syncs that should have come before it."""
    if path in files:
        files.discard(path)
        files.add(target)
        if target.startswith(NEVER_HALF):
            yield f"{target} is put in place before it is synced"
    if target.startswith(("refs/", "packed-refs")) and any(entry.startswith("objects") for entry in entries):
        yield f"{target} moves before its objects are in place for good: {sorted(entries)}"
    missing = [name for name in sorted(files | entries) if not name.startswith(expendable)]
    if not target and missing:
        yield f"the store is put in place before all of it is synced: {missing}"
    entries.add(os.path.dirname(target))


def _below(path: str, store: str) -> str:
    """Return a path inside the store, which has another name during its creation.

    git runs in a directory of its own inside the store, whose entries are links to those of the store.
    """
    head, _, rest = path.partition("/")
    inside = rest if head == store or head.startswith(f"{store}.new-") else path
    return _OF_GIT.sub("", os.path.normpath(inside) if "/.." in inside else inside).removeprefix(".")
