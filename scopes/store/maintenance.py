"""Pack a store, delete what nothing reaches, expire operations, and remove the files of dead processes."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace

from scopes.clock import new_id, now, parse_time
from scopes.errors import ScopesError
from scopes.ids import Oid, OperationId
from scopes.model.operation import Operation, RefChange
from scopes.regular_file import sync
from scopes.result import plural
from scopes.store import refs
from scopes.store.git_program import find_git, run_git
from scopes.store.locks import remove_orphans
from scopes.store.objects import pygit2, translated
from scopes.store.operations import walk_operations
from scopes.store.repository import Repository, remove_unfinished_stores
from scopes.store.transactions import commit_operation, exclusive_write, list_leftovers, write_operation

DEFAULT_PACK_THRESHOLD = 6000  # three objects a message: about 2,000 messages
_LOOSE_CONVERSATIONS = 1000
_SAMPLE_DIRECTORY = "17"
_UNSEARCHED_DIVISOR = 10  # search for deltas if a tenth of the packed bytes was never searched
# Window and depth of an ordinary repack. Blobs above the threshold are chunks of imported files: they compress poorly
# as deltas and would take most of the time.
_SEARCH = ("gc.aggressiveWindow=10", "gc.aggressiveDepth=50", "core.bigFileThreshold=512k")
EXPIRE = "expire"
PURGE = "purge"
FINAL = frozenset({EXPIRE, PURGE})
"""Kinds of operations that cannot be undone."""


def estimate_loose_objects(repository: Repository) -> int:
    """Estimate the number of loose objects from one of the 256 directories, as git does."""
    try:
        return 256 * len(os.listdir(os.path.join(repository.path, "objects", _SAMPLE_DIRECTORY)))
    except OSError:
        return 0


def count_loose_objects(repository: Repository) -> int:
    """Count the loose objects."""
    top = os.path.join(repository.path, "objects")
    with translated("list the loose objects", repository.path):
        return sum(len(os.listdir(os.path.join(top, name))) for name in os.listdir(top) if len(name) == 2)


def pack_when_needed(repository: Repository) -> bool:
    """Pack the store if it has too many loose objects; return True if it was packed. Errors are ignored."""
    threshold = repository.config.find_integer("scopes.packThreshold", DEFAULT_PACK_THRESHOLD)
    if threshold == 0 or estimate_loose_objects(repository) < threshold or find_git() is None:
        return False
    try:
        with exclusive_write(repository):
            if estimate_loose_objects(repository) >= threshold:
                pack(repository)
    except ScopesError:
        return False
    return True


def pack_refs_when_needed(repository: Repository) -> None:
    """Pack the refs if a thousand conversations have loose ones; errors are ignored. Hold the exclusive lock."""
    with suppress(OSError, ScopesError):
        if len(os.listdir(os.path.join(repository.path, refs.HEADS))) >= _LOOSE_CONVERSATIONS:
            run_git(repository.path, "pack-refs", "--all", lock=repository.lock.descriptor)
            sync(repository.path)
            repository.git.set_refdb(pygit2.Refdb.open(repository.git))


def pack(repository: Repository) -> None:
    """Run git gc, which keeps unreachable objects for two weeks; call it under the exclusive lock."""
    remove_leftovers(repository)
    # --force: the lock is held, so no other gc runs.
    words, settings = (("--aggressive",), _SEARCH) if _is_unsearched(repository) else ((), ())
    lock = repository.lock.descriptor
    run_git(repository.path, "gc", "--quiet", "--force", *words, settings=settings, lock=lock)
    sync_packs(repository)


def sync_packs(repository: Repository) -> None:
    """Sync the directories of packs, so that a power cut does not lose what was packed."""
    with translated("sync the packs", repository.path):
        for directory in ("objects/pack", "objects/info", ""):  # git syncs the files, not the directories
            sync(os.path.join(repository.path, directory))


def _is_unsearched(repository: Repository) -> bool:
    """Return True if a large part of the packed bytes was never searched for deltas.

    Bulk writing makes no deltas, and git searches between packs only: 2,000 states of a conversation take three times
    the space. A pack that git made of the whole store has a bitmap.
    """
    directory = os.path.join(repository.path, "objects", "pack")
    with translated("list the packs", repository.path):
        sizes = {entry.name: entry.stat().st_size for entry in os.scandir(directory) if entry.name.endswith(".pack")}
        unsearched = [name for name in sizes if not os.path.exists(f"{directory}/{name.removesuffix('.pack')}.bitmap")]
    return sum(sizes[name] for name in unsearched) * _UNSEARCHED_DIVISOR > sum(sizes.values())


def remove_leftovers(repository: Repository) -> list[str]:
    """Remove temporary files and lock files of dead processes; return their paths. Call it under the exclusive lock."""
    remove_unfinished_stores(repository.path)
    return remove_orphans(os.path.join(repository.path, path) for path in list_leftovers(repository))


def expire(repository: Repository, cutoff_nanoseconds: int) -> tuple[int, int]:
    """Delete operations before the cutoff and their trash; return the number of operations and of trash refs.

    The operation log is rewritten without them, with a record of the expire on top. A trash ref is deleted only if no
    remaining operation refers to it. This is atomic like an operation, but it cannot be undone. Call it under the
    exclusive lock.
    """
    old_tip = repository.raw_ref(refs.OPERATIONS)
    kept, expired, trash = plan_expire(repository, cutoff_nanoseconds)
    if old_tip is not None and (expired or trash):
        operations = f"{len(expired)} {plural(len(expired), 'operation')}"
        deleted = f"{len(trash)} {plural(len(trash), 'ref')} of the trash"
        record = final_record(repository, EXPIRE, f"delete {operations} and {deleted} for good")
        tip = None if expired else Oid(old_tip)
        for operation in reversed(kept if expired else ()):
            tip = write_operation(repository, operation, tip)
        tip = write_operation(repository, record, tip)
        apply_final(repository, record, [RefChange(refs.OPERATIONS, old_tip, tip), *trash])
        if repository.raw_ref(refs.OPERATIONS) is not None:
            # The reflog still has the old tips of the log, which reach everything that was expired.
            expiry = ("reflog", "expire", "--expire=all", refs.OPERATIONS)
            run_git(repository.path, *expiry, lock=repository.lock.descriptor)
    return len(expired), len(trash)


def plan_expire(
    repository: Repository, cutoff_nanoseconds: int
) -> tuple[list[Operation], list[Operation], list[RefChange]]:
    """Return the operations that an expire would keep, those that it would delete, and the changes of the trash.

    Records of earlier expires are in neither list if they are before the cutoff: they are deleted, but do not count.
    """
    log = [operation for _, operation in walk_operations(repository)]
    if not log:
        return [], [], []  # without the log it is unknown which trash belongs to which operation
    kept = [o for o in log if (parse_time(o.time) or 0) >= cutoff_nanoseconds]
    expired = [o for o in log if (parse_time(o.time) or 0) < cutoff_nanoseconds and o.kind != EXPIRE]
    referenced = {change.ref for operation in kept for change in operation.changes}
    trash = [RefChange(r, value, None) for r, value in repository.list_refs(refs.TRASH).items() if r not in referenced]
    return kept, expired, trash


def final_record(repository: Repository, kind: str, summary: str, command: str | None = None) -> Operation:
    """Return the record of an operation that cannot be undone; it names no ref, so that it keeps nothing."""
    return Operation(
        id=OperationId(new_id()),
        kind=kind,
        summary=summary,
        command=repository.caller.command if command is None else command,
        actor=repository.caller.actor,
        time=now(),
        changes=(),
    )


def apply_final(repository: Repository, record: Operation, changes: list[RefChange]) -> None:
    """Move the refs; the record in the log has no changes, so that it does not keep what was deleted."""
    commit_operation(repository, replace(record, changes=tuple(changes)))
